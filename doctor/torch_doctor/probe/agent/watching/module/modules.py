"""Modules: where they were built, what they are made of, which of their parts depend on the mode."""

from __future__ import annotations

import sys
import weakref
from typing import TYPE_CHECKING, Any

from ...identities import IdentityMap
from ..definitions import class_site, init_site, misspelt_method
from ..families import Family
from ..naming import class_name, is_project
from ..sensitivity import is_sensitive

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from types import CodeType, FrameType

    from ...recorder import Recorder
    from ...scopes import Here
    from ..watch import Watch

CONSTRUCTORS = frozenset({"__init__", "__post_init__", "__new__", "__call__", "build", "setup"})


class Birth:
    """Where a module was built, in which code of the user's, and by which module's constructor."""

    __slots__ = ("around", "code", "owner", "site")

    def __init__(self, site: int | None, code: CodeType | None, owner: weakref.ref[Any] | None) -> None:
        self.site = site
        self.code = code
        self.owner = owner
        self.around = owner


class Watcher:
    """Notes every construction; writes modules when they turn up in something that happens."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._torch = watch.torch
        self._recorder: Recorder = watch.recorder
        self._births: IdentityMap[Birth] = IdentityMap()
        self._families: IdentityMap[Family] = IdentityMap()
        self._told: set[int] = set()
        self._recurrent = (watch.torch.nn.RNNBase, watch.torch.nn.RNNCellBase)
        self._parts: set[tuple[int, int, str]] = set()
        self._owners: dict[int, tuple[weakref.ref[Any], int, weakref.ref[Any], str]] = {}
        self._groups: dict[tuple[int, ...], frozenset[int]] = {}
        self._parents: dict[int, set[int]] = {}
        self._below: dict[int, frozenset[int]] = {}
        self.version = 0
        self._losses = watch.torch.nn.modules.loss._Loss
        self._inner: tuple[int, set[int]] = (-1, set())
        self._walked: IdentityMap[int] = IdentityMap()

    def install(self) -> None:
        """Wraps `nn.Module.__init__` and `__setstate__`."""
        module = self._torch.nn.Module
        self._watch.patches.replace(module, "__init__", self._init)
        self._watch.patches.replace(module, "__setstate__", self._set_state)

    def _init(self, original: Any) -> Any:
        def __init__(self: Any, *arguments: Any, **keywords: Any) -> None:  # noqa: N807
            original(self, *arguments, **keywords)
            born(self)

        born = self._born
        return __init__

    def _set_state(self, original: Any) -> Any:
        def __setstate__(self: Any, state: Any) -> None:  # noqa: N807
            original(self, state)
            born(self)
            watch.recorder.safely(watch.given_weights.copied, self)

        born, watch = self._born, self._watch
        return __setstate__

    # --- construction ---

    def _born(self, module: Any) -> None:
        if isinstance(module, self._losses):
            return
        self.version += 1
        if self._recorder.quiet:
            return
        try:
            built_at, owner = self._construction(module)
            code = built_at.f_code if built_at is not None else None
            site = self._recorder.sites.of_frame(built_at) if built_at is not None else None
            self._births[module] = Birth(site, code, weakref.ref(owner) if owner is not None else None)
            if self._recorder.inside:
                self._watch.built_in_forward.born(module, site)
                self._watch.functional_dropout.born(module)
        except TypeError:  # cannot be hashed or referred to
            return

    def _construction(self, module: Any) -> tuple[FrameType | None, Any]:
        """The user's frame that constructs it, and the module whose constructor that is in."""
        sites = self._recorder.sites
        frame: FrameType | None = sys._getframe(3)
        built_at: FrameType | None = None
        while frame is not None:
            code = frame.f_code
            first = first_argument(frame) if code.co_name in CONSTRUCTORS and code.co_argcount else None
            if first is not module:
                if built_at is None and sites.is_users(code.co_filename):
                    built_at = frame
                if isinstance(first, self._torch.nn.Module) and code.co_name != "__call__":
                    return built_at, first
            frame = frame.f_back
        return built_at, None

    def built_by(self, module: Any, owner: Any) -> bool:
        """Whether the module was built while `owner` was constructed."""
        birth = self._births.get(module)
        while birth is not None and birth.owner is not None:
            maker = birth.owner()
            if maker is owner:
                return True
            birth = self._births.get(maker) if maker is not None else None
        return False

    def made_by(self, code: CodeType, module: Any) -> bool:
        """Whether this code built the module, which is part of no other."""
        birth = self._births.get(module)
        return birth is not None and birth.code is code and not self.is_part(module)

    def birthplace(self, module: Any) -> int | None:
        """The place where a module was built."""
        birth = self._births.get(module)
        return birth.site if birth is not None else None

    # --- what they are made of ---

    def family(self, module: Any) -> Family:
        """The parameters and the mode-sensitive parts of a module."""
        known = self._families.get(module)
        if known is None or known.version != self.version:
            parts = list(module.modules())
            sensitive = [part for part in parts if is_sensitive(part, self._torch.nn, self._recorder)]
            known = self._families[module] = Family(self.version, list(module.parameters()), sensitive)
        return known

    # --- telling of them ---

    def tell(self, module: Any, here: Here) -> int:
        """Writes a module and all its parts, once; returns its number."""
        number = self._recorder.references.number(module)
        if self._walked.get(module) == self.version:
            return number
        self._walked[module] = self.version
        self._groups.clear()
        self._below.clear()
        for part in module.modules():
            self._tell_one(part, here)
        for part in module.modules():
            self._tell_parts(part, here)
        self._watch.containers.tell(module, here)
        return number

    def _tell_one(self, part: Any, here: Here) -> None:
        number = self._recorder.references.number(part)
        if number in self._told:
            return
        self._told.add(number)
        birth = self._births.get(part)
        family = self.family(part)
        fields: dict[str, Any] = {
            "module": number,
            "class_name": class_name(type(part), self._recorder),
            "sensitive": bool(family.sensitive),
            "parameters": any(each.requires_grad for each in family.parameters),
            "recurrent": isinstance(part, self._recurrent),
        }
        if is_project(type(part), self._recorder):
            fields["class_site"] = class_site(type(part), self._recorder)
            misspelt, meant, place = misspelt_method(type(part), self._recorder)
            fields["init_site"] = place if misspelt else init_site(type(part), self._recorder)
            fields["misspelt"] = misspelt
            fields["meant"] = meant or "__init__"
        site = birth.site if birth is not None and birth.site is not None else here.site
        self._recorder.event("ModuleBuilt", here, site=site, **fields)
        self._watch.mode_methods.tell(type(part), site, here)

    def _tell_parts(self, owner: Any, here: Here) -> None:
        numbers = self._recorder.references.number
        number = numbers(owner)
        for name, child in owner._modules.items():
            if child is not None:
                self._parents.setdefault(numbers(child), set()).add(number)
                part = (number, numbers(child), name)
                if part not in self._parts:
                    self._parts.add(part)
                    self._recorder.event("Registered", here, owner=number, child=part[1], name=name)
        self._watch.sharing.tell(owner, here)
        for name, parameter in owner._parameters.items():
            if parameter is not None:
                self._owners[id(parameter)] = (weakref.ref(parameter), number, weakref.ref(owner), name)

    # --- who owns what ---

    def alive(self) -> Iterator[Any]:
        """All modules that were built and are still there."""
        yield from list(self._births)

    def is_part(self, module: Any) -> bool:
        """Whether the module is part of another one that was built."""
        if self._inner[0] != self.version:
            inner = {id(child) for each in self.alive() for child in each._modules.values() if child is not None}
            self._inner = (self.version, inner)
        return id(module) in self._inner[1]

    def owners(self, parameters: Iterable[Any], here: Here) -> frozenset[int]:
        """The modules that own these parameters, with the modules around all whose trainable parameters are among them.

        A tensor that no module owns stands for itself.
        """
        parameters = list(parameters)
        key = tuple(map(id, parameters))
        known = self._groups.get(key)
        if known is not None:
            return known
        if any(self._owner(each) is None for each in parameters):
            self._look_for_owners(parameters, here)
        direct = {self._owner(each) or self._recorder.references.number(each) for each in parameters}
        found = frozenset(direct) | self._whole(set(key), direct)
        if all(each.is_leaf for each in parameters):
            self._groups[key] = found
        return found

    def _owner(self, parameter: Any) -> int | None:
        """The module that has a parameter; none, where another object took its place."""
        known = self._owners.get(id(parameter))
        if known is None or known[0]() is not parameter:
            return None
        kept = getattr(known[2](), "_parameters", None)
        if not isinstance(kept, dict):  # a scripted module makes a new object for each look
            return known[1]
        return known[1] if kept.get(known[3]) is parameter else None

    def is_owned(self, parameter: Any) -> bool:
        """Whether some module that is known owns the tensor."""
        return self._owner(parameter) is not None

    def _look_for_owners(self, parameters: list[Any], here: Here) -> None:
        """Writes the modules that own parameters whose owner is not known yet, from the outermost on."""
        wanted = {id(each) for each in parameters if self._owner(each) is None}
        for module in self.alive():
            if not self.is_part(module) and any(id(each) in wanted for each in module.parameters()):
                if isinstance(getattr(module, "_parameters", None), dict):  # else each look at it gives new objects
                    self.version += self._walked.get(module) == self.version  # one took another one's place since
                self.tell(module, here)

    def _whole(self, parameters: set[int], direct: set[int]) -> frozenset[int]:
        """The modules around these owners whose trainable parameters are all among the parameters."""
        found: set[int] = set()
        waiting = list(direct)
        seen: set[int] = set()
        while waiting:
            for parent in self._parents.get(waiting.pop(), ()):
                if parent not in seen:
                    seen.add(parent)
                    waiting.append(parent)
        by_number = {self._recorder.references.number(module): module for module in self.alive()} if seen else {}
        for number in seen:
            module = by_number.get(number)
            if module is not None:
                trainable = [id(each) for each in self.family(module).parameters if each.requires_grad]
                if trainable and all(each in parameters for each in trainable):
                    found.add(number)
        return frozenset(found)


def first_argument(frame: FrameType) -> Any:
    """What a function that takes arguments was given first: `self`, in a method."""
    return frame.f_locals.get(frame.f_code.co_varnames[0])
