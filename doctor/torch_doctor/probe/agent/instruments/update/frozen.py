"""What is frozen and changes all the same: statistics of batch norm, and parameters that keep an old gradient."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

from ...identities import IdentityMap
from ..copies import elements
from ..instrument import Instrument as Base
from .rates import may_thaw

if TYPE_CHECKING:
    from ...scopes import Here
    from ...watching.watch import Watch

MOST = 8  # calls of a module, and steps of an optimizer, that are looked at
LARGEST = 4_000_000  # numbers of parameters whose values are kept


class FrozenNorms:
    """A call of a module: how many batch norms in it are frozen, and how many of them gathered statistics."""

    __slots__ = ("changed", "event", "here", "module", "norms")

    def __init__(self, event: int, here: Here, module: int, norms: int, changed: int) -> None:
        self.event = event
        self.here = here
        self.module = module
        self.norms = norms
        self.changed = changed


class Steps:
    """The steps of an optimizer that had frozen parameters with gradients, and how many of these moved."""

    __slots__ = ("count", "here", "moved", "tensors")

    def __init__(self, here: Here) -> None:
        self.here = here
        self.count = 0
        self.tensors: set[int] = set()
        self.moved: set[int] = set()


class Instrument(Base):
    """Compares the statistics of frozen batch norm around calls, and frozen parameters around steps."""

    def __init__(self, watch: Watch) -> None:
        super().__init__(watch)
        self._seen: IdentityMap[int] = IdentityMap()  # how often a module was called
        self._calls: list[FrozenNorms] = []
        self._weights: dict[int, list[tuple[weakref.ref[Any], Any]]] = {}  # what is frozen beside them, as it was
        self._before: list[tuple[Any, Any]] = []  # the statistics before a call
        self._steps: IdentityMap[Steps] = IdentityMap()
        self._frozen: list[tuple[Any, Any]] = []  # frozen parameters before a step

    # --- batch norm ---

    def before_forward(self, module: Any, arguments: tuple[Any, ...], keywords: dict[str, Any], here: Here) -> None:
        """The statistics are kept as they are."""
        self._before.clear()
        times = self._seen.get(module) or 0
        if times >= MOST:
            return
        norms = [part for part in module.modules() if self._is_frozen_norm(part)]
        beside = [each for part in module.modules() if not self._is_norm(part) for each in part._parameters.values()]
        beside = [each for each in beside if each is not None and not each.requires_grad]
        if not norms or not beside:
            return
        self._seen[module] = times + 1
        self._before = [(part, part.running_mean.detach().clone()) for part in norms]
        key = self.watch.recorder.references.number(module)
        if key not in self._weights:
            kept = [each for each in beside if elements(self.watch, [each]) <= LARGEST]
            self._weights[key] = [(weakref.ref(each), each.detach().clone()) for each in kept[:2]]

    def _is_norm(self, part: Any) -> bool:
        return isinstance(part, self.watch.torch.nn.modules.batchnorm._BatchNorm)

    def _is_frozen_norm(self, part: Any) -> bool:
        """Whether it is batch norm with statistics and weights of its own, all of them frozen."""
        if not self._is_norm(part) or part.running_mean is None or not part.momentum:
            return False
        own = [each for each in part._parameters.values() if each is not None]
        return bool(own) and not any(each.requires_grad for each in own)

    def on_forward(
        self, module: Any, arguments: tuple[Any, ...], keywords: dict[str, Any], output: Any, here: Here, event: int
    ) -> None:
        """And compared with what they are now."""
        if self._before:
            equal = self.watch.torch.equal
            changed = sum(not equal(part.running_mean.detach(), was) for part, was in self._before)
            number = self.watch.recorder.references.number(module)
            self._calls.append(FrozenNorms(event, here, number, len(self._before), changed))
            self._before = []

    # --- old gradients ---

    def before_step(self, optimizer: Any, here: Here) -> None:
        """The frozen parameters that have a gradient are kept."""
        self._frozen.clear()
        known = self._steps.get(optimizer)
        if known is not None and known.count >= MOST:
            return
        given = [each for group in optimizer.param_groups for each in group["params"]]
        stale = [each for each in given if not each.requires_grad and each.grad is not None]
        stale = [each for each in stale if elements(self.watch, [each]) <= LARGEST]
        self._frozen = [(each, each.detach().clone()) for each in stale]

    def on_step(self, optimizer: Any, here: Here, event: int) -> None:
        """And compared."""
        if not self._frozen or optimizer is None:
            return
        known = self._steps.get(optimizer)
        if known is None:
            known = self._steps[optimizer] = Steps(here)
        known.count += 1
        for parameter, was in self._frozen:
            known.tensors.add(id(parameter))
            if not self.watch.torch.equal(parameter.detach(), was):
                known.moved.add(id(parameter))
        self._frozen = []

    # --- what became of it ---

    def at_end(self, error: BaseException | None) -> None:
        """Writes of the calls of modules whose frozen weights stayed, and of the steps."""
        recorder = self.watch.recorder
        if not self._calls and not any(True for _ in self._steps):
            return
        thaws = bool(recorder.safely(may_thaw, self.watch))
        for call in self._calls:
            if self._stayed(call.module):
                fields = {"forward": call.event, "module": call.module, "thawed": thaws}
                recorder.event("FrozenNormsRan", call.here, **fields, norms=call.norms, changed=call.changed)
        for optimizer, steps in self._steps.items():
            recorder.event(
                "FrozenMoved",
                steps.here,
                optimizer=recorder.references.number(optimizer),
                thawed=thaws,
                tensors=len(steps.tensors),
                moved=len(steps.moved),
                steps=steps.count,
            )

    def _stayed(self, module: int) -> bool:
        """Whether the weights that were frozen are what they were."""
        kept = ((each(), was) for each, was in self._weights[module])
        return all(each is not None and self.watch.torch.equal(each.detach(), was) for each, was in kept)
