"""States of modules that are taken, and modules and parameters that get another name."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

from ... import claims, hooks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...scopes import Here
    from ..watch import Watch

DEEPEST = 4
WIDEST = 64  # items of a dict or list that are looked at
TENSORS, NUMBERS = 4, 64  # the largest tensors of a state that are compared, and numbers of each


class Taken:
    """Tensors of a state that was taken, and some of the numbers that they had then."""

    def __init__(self, event: int, state: Any) -> None:
        self.event = event
        tensors = [each for each in state.values() if hasattr(each, "numel")] if isinstance(state, dict) else []
        tensors = sorted(tensors, key=lambda each: -each.numel())[:TENSORS]
        self._parts = [(weakref.ref(each), each.reshape(-1)[:NUMBERS].clone()) for each in tensors]

    def changed(self, torch: Any) -> int:
        """How many of the tensors somebody still has, with other numbers."""
        now = [(reference(), before) for reference, before in self._parts]
        return sum(each is not None and not torch.equal(each.reshape(-1)[:NUMBERS], old) for each, old in now)


class Watcher:
    """Wraps `state_dict`, and is called where the source keeps a model as the best so far."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._recorder = watch.recorder
        self._busy = False
        self._taken: dict[int, tuple[weakref.ref[Any], int]] = {}
        """Tensors of states that were taken, by their id, with the event that took them."""
        self._latest: dict[tuple[int, int], Taken] = {}  # by the site and the module

    def install(self) -> None:
        """Puts the wrapper and the hook in place."""
        hooks.put("alias", self._renamed)
        self._watch.patches.replace(self._watch.torch.nn.Module, "state_dict", self._taking)

    def _taking(self, original: Any) -> Any:
        recorder = self._recorder

        def state_dict(module: Any, *arguments: Any, **keywords: Any) -> Any:
            if self._busy or recorder.quiet or recorder.inside:
                return original(module, *arguments, **keywords)
            self._busy = True
            try:
                state = original(module, *arguments, **keywords)
            finally:
                self._busy = False
            recorder.safely(self._took, module, state)
            return state

        return state_dict

    def _took(self, module: Any, state: Any) -> None:
        here = self._recorder.here()
        tensor = next(self._tensors(state), None)
        if here.frame is None or tensor is None or tensor.grad_fn is not None:
            return
        own = {each.untyped_storage().data_ptr() for each in self._watch.modules.family(module).parameters}
        if tensor.untyped_storage().data_ptr() not in own:
            return
        number = self._watch.modules.tell(module, here)
        name = self._recorder.owner(here.site, "state_dict")
        event = self._recorder.event("StateTaken", here, module=number, name=name)
        self._taken[id(tensor)] = (weakref.ref(tensor), event)
        with self._watch.unwatched():
            before, self._latest[here.site, number] = self._latest.get((here.site, number)), Taken(event, state)
            changed = 0 if before is None else before.changed(self._watch.torch)
        if before is not None and changed:
            self._recorder.measured(claims.STATE_OVERWRITTEN, changed, "tensors", about=[before.event])

    def of(self, value: Any) -> list[int]:
        """The events that took what is in a value."""
        found = set()
        for tensor in self._tensors(value):
            known = self._taken.get(id(tensor))
            if known is not None and known[0]() is tensor:
                found.add(known[1])
        return sorted(found)

    def _tensors(self, value: Any, depth: int = DEEPEST) -> Iterator[Any]:
        """The tensors in a value and in the containers within it."""
        if isinstance(value, self._watch.torch.Tensor):
            yield value
        elif depth and isinstance(value, dict):
            for each in list(value.values())[:WIDEST]:
                yield from self._tensors(each, depth - 1)
        elif depth and isinstance(value, (list, tuple)):
            for each in value[:WIDEST]:
                yield from self._tensors(each, depth - 1)

    def _renamed(self, key: int, value: Any) -> Any:
        asked = self._recorder.index.nodes[key].how == "asked"
        if not self._recorder.quiet and (asked or isinstance(value, self._watch.torch.nn.Module)):
            self._recorder.safely(self._tell_name, key, value)
        return value

    def _tell_name(self, key: int, value: Any) -> None:
        here = self._recorder.here()
        node = self._recorder.index.nodes[key]
        whole = isinstance(value, self._watch.torch.nn.Module)
        owners = [] if whole or not here.loops else self._trained(value, here)
        if here.frame is not None and here.loops and (whole or owners):
            number = self._watch.modules.tell(value, here) if whole else min(owners)
            site, fields = self._recorder.index.site(key), {"name": node.value, "alias": node.text}
            self._recorder.event("StateTaken", here, site=site, module=number, parameters=not whole, **fields)

    def _trained(self, value: Any, here: Here) -> list[int]:
        """The owners of what an optimizer moves, where a value has its memory and nothing else, and is no state."""
        tensors = list(self._tensors(value))
        own = {each.untyped_storage().data_ptr(): each for each in self._watch.optimizers.tensors()}
        found = [own.get(each.untyped_storage().data_ptr()) for each in tensors]
        if not found or None in found or self.of(value) or isinstance(value, self._watch.torch.Tensor):
            return []
        return sorted(self._watch.modules.owners(found, here))
