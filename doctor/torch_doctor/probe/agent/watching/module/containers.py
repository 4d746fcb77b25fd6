"""Plain containers of layers and parameters that become attributes of a module."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from ... import hooks
from ..naming import class_name

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ...scopes import Here
    from ..watch import Watch

KINDS: dict[type, str] = {list: "list", dict: "dict", tuple: "tuple", set: "set"}
LARGEST = 4096  # containers whose origin is remembered


class Watcher:
    """Remembers where containers were made and assigned; looks into those of a module when it is told of."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._torch = watch.torch
        self._recorder = watch.recorder
        self._assigned: dict[tuple[int, str], int] = {}
        self._made: dict[int, tuple[int, str]] = {}
        self._told: set[tuple[int, str]] = set()

    def install(self) -> None:
        """Puts what instrumented code calls in place."""
        hooks.put("made", self._make)

    def _make(self, key: int, container: Any) -> Any:
        if type(container) in KINDS:
            if len(self._made) > LARGEST:
                self._made.clear()
            self._made[id(container)] = (key, sys._getframe(1).f_code.co_name)
        return container

    def assigned(self, key: int, container: Any) -> None:
        """A container became an attribute, if that is what the place `key` does."""
        name = self._recorder.index.nodes[key].name
        if name:
            made = self._made.get(id(container))
            function = sys._getframe(2).f_code.co_name
            self._assigned[id(container), name] = made[0] if made is not None and made[1] != function else key

    def tell(self, root: Any, here: Here) -> None:
        """Writes the plain containers of a module and its parts that hold modules or parameters."""
        own = {id(each) for each in root.modules()} | {id(each) for each in root.parameters()}
        registered = set(own)
        for module in self._watch.modules.alive():
            registered.update(id(each) for each in module._modules.values())
            registered.update(id(each) for each in module._parameters.values())
        for owner in root.modules():
            for name, value in list(vars(owner).items()):
                if type(value) in KINDS and value and not name.startswith("_"):
                    self._tell_one(owner, name, value, (own, registered), here)

    def _tell_one(self, owner: Any, name: str, container: Any, known: tuple[set[int], set[int]], here: Here) -> None:
        nn = self._torch.nn
        own, registered = known
        members = [each for each in _members(container) if isinstance(each, (nn.Module, nn.Parameter))]
        key = (id(container), name)
        if not members or key in self._told:
            return
        self._told.add(key)
        numbers, modules = self._recorder.references.number, self._watch.modules
        parameters = all(isinstance(each, nn.Parameter) for each in members)
        place = self._assigned.get(key)
        site = self._recorder.index.site(place) if place is not None else modules.birthplace(owner) or here.site
        self._recorder.event(
            "Unregistered",
            here,
            site=site,
            owner=numbers(owner),
            owner_class=class_name(type(owner), self._recorder),
            name=name,
            container=KINDS[type(container)],
            members=[numbers(each) for each in members],
            parameters=parameters,
            trainable=any(self._matters(each) for each in members),
            passed_in=(not parameters and not any(modules.built_by(each, owner) for each in members))
            or (place is not None and self._recorder.index.nodes[place].wraps and len(members) == 1),
            registered=all(id(each) in registered for each in members) or any(_shared(each, own) for each in members),
        )

    def _matters(self, member: Any) -> bool:
        """Whether it has something to train or a mode to set."""
        if isinstance(member, self._torch.nn.Module):
            family = self._watch.modules.family(member)
            if not member.training and not any(each.requires_grad for each in family.parameters):
                return False  # frozen and in evaluation mode: it is hidden so that nobody trains it
            return bool(family.sensitive) or any(each.requires_grad for each in family.parameters)
        return bool(member.requires_grad)


def _shared(member: Any, own: set[int]) -> bool:
    """Whether a module has parameters that its owner has, too: it wraps layers of it, or layers of it were taken from it."""
    parameters = getattr(member, "parameters", None)
    return parameters is not None and any(id(each) in own for each in parameters())


def _members(container: Any) -> Iterable[Any]:
    values = container.values() if isinstance(container, dict) else container
    for value in values:
        if type(value) in KINDS:
            yield from _members(value)
        else:
            yield value
