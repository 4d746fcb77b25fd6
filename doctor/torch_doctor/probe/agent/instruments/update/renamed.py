"""Models and lists of parameters that get a name: whether they are what an optimizer steps."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

from ... import hooks
from ..instrument import Instrument as Base

if TYPE_CHECKING:
    from ...scopes import Here
    from ...watching.watch import Watch

MOST = 2_000  # names that are looked at
LONGEST = 4_096  # items of a container
ITEMS = 3  # tensors that one place puts in a container, of which the last one is looked at


class Instrument(Base):
    """Compares the memory of what gets a name with that of the parameters of optimizers that step after it."""

    def __init__(self, watch: Watch) -> None:
        super().__init__(watch)
        self._named: dict[int, list[weakref.ref[Any]]] = {}  # models or tensors that have the names
        self._others: dict[int, tuple[Here, int]] = {}  # those that no optimizer had that stepped so far
        self._told: set[int] = set()
        self._tensors_seen: dict[int, int] = {}  # how many items were tensors
        hooks.put("bound", self._bound)

    def _bound(self, key: int, value: Any) -> Any:
        several = isinstance(value, (self._module, dict, list))
        looked_at = (several or isinstance(value, self.watch.torch.Tensor)) and key not in self._told
        if looked_at and len(self._named) < MOST and not self.watch.recorder.quiet:
            self.watch.recorder.safely(self._name, key, value)
        return value

    def _name(self, key: int, value: Any) -> None:
        kinds = self.watch.torch.nn.Module, self.watch.torch.Tensor
        if isinstance(value, kinds[1]):
            self._tensors_seen[key] = self._tensors_seen.get(key, 0) + 1
            item = self.watch.recorder.index.nodes[key].text.endswith("]")
            if not item or self._tensors_seen[key] > ITEMS or not value.is_leaf:
                self._told.add(key)  # not worth a second look
                return
        things = [value] if isinstance(value, kinds) else _inside(value, kinds)
        self._others.pop(key, None)
        self._named.pop(key, None)
        if things:
            self._named[key] = [weakref.ref(each) for each in things]

    def on_step(self, optimizer: Any, here: Here, event: int) -> None:
        """What has a name is looked for among the parameters of the optimizer; those of an update by hand are not known."""
        if not self._named or optimizer is None:
            return
        own = {_memory(each) for group in optimizer.param_groups for each in group["params"]} - {0}
        for key, references in [*self._named.items()]:
            things = [each() for each in references]
            if None in things:
                del self._named[key]
                continue
            tensors = self._tensors(things)
            memory = [_memory(each) for each in tensors]
            twice = len(things) == 1 or len(set(memory)) < len(memory) or not isinstance(things[0], self._module)
            if memory and twice and set(memory) <= own:
                self._tell(key, here, len(tensors), shared=True)
                self._told.add(key)
                del self._named[key]
                self._others.pop(key, None)
            elif memory and own.isdisjoint(memory):
                self._others[key] = here, len(tensors)
            else:
                self._others.pop(key, None)

    @property
    def _module(self) -> Any:
        return self.watch.torch.nn.Module

    def _tensors(self, things: list[Any]) -> list[Any]:
        return [
            each for thing in things for each in (thing.parameters() if isinstance(thing, self._module) else [thing])
        ]

    def at_end(self, error: BaseException | None) -> None:
        """What no optimizer had that stepped."""
        for key, (here, count) in self._others.items():
            self._tell(key, here, count, shared=False)

    def _tell(self, key: int, here: Here, count: int, *, shared: bool) -> None:
        recorder = self.watch.recorder
        node, site = recorder.index.nodes[key], recorder.index.site(key)
        recorder.event("Renamed", here, site=site, name=node.text, model=node.value, shared=shared, tensors=count)


def _inside(value: Any, kinds: tuple[Any, Any]) -> list[Any]:
    """The models or tensors that a container consists of; none if anything else is among them."""
    items = list(value.values()) if isinstance(value, dict) else list(value[:LONGEST])
    for kind in kinds:
        if items and all(isinstance(each, kind) for each in items):
            return items
    return []


def _memory(tensor: Any) -> int:
    """Where the numbers of a tensor are; 0 if nobody knows."""
    try:
        return int(tensor.untyped_storage().data_ptr())
    except (NotImplementedError, RuntimeError):
        return 0  # one without memory of its own, as lazy and fake tensors
