"""Metric objects of torchmetrics: whether what an evaluation added up is still there when the next one adds to it."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from ... import claims, imports
from ...identities import IdentityMap
from ..instrument import Instrument as Base

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from ...scopes import Here
    from ...watching.watch import Watch


class Tally:
    """What was added to a metric since it was empty: how often, after which step, and whether somebody read it since."""

    __slots__ = ("count", "inside", "read", "step", "told")

    def __init__(self) -> None:
        self.count = 0
        self.step = 0
        self.read = self.inside = self.told = False


class Instrument(Base):
    """Follows metrics that are only told of evaluations: a result that is read after each of them is meant to be of one."""

    def __init__(self, watch: Watch) -> None:
        super().__init__(watch)
        self._steps = 0
        self._tallies: IdentityMap[Tally] = IdentityMap()
        imports.after("torchmetrics.metric", self._patch)

    def on_step(self, optimizer: Any, here: Here, event: int) -> None:
        """The model changes."""
        self._steps += 1

    def _patch(self, module: ModuleType) -> None:
        metric: Any = vars(module).get("Metric")
        if metric is None or not all(hasattr(metric, name) for name in ("_wrap_update", "_wrap_compute")):
            return
        replace = self.watch.patches.replace
        replace(metric, "_wrap_update", functools.partial(self._wrapping, self._updated))
        replace(metric, "_wrap_compute", functools.partial(self._wrapping, self._read))
        replace(metric, "reset", self._resetting)
        replace(metric, "forward", self._calling)

    def _wrapping(self, note: Callable[[Any], None], original: Any) -> Any:
        def wrap(metric: Any, method: Any) -> Any:
            inner = original(metric, method)

            @functools.wraps(inner)
            def noted(*arguments: Any, **keywords: Any) -> Any:
                result = inner(*arguments, **keywords)
                self.watch.recorder.safely(note, metric)
                return result

            return noted

        return wrap

    def _calling(self, original: Any) -> Any:
        """A metric that is called adds to a copy of its state, and to itself."""

        def forward(metric: Any, *arguments: Any, **keywords: Any) -> Any:
            tally = self._of(metric)
            tally.inside = True
            try:
                result = original(metric, *arguments, **keywords)
            finally:
                tally.inside = False
            self.watch.recorder.safely(self._updated, metric)
            return result

        return forward

    def _resetting(self, original: Any) -> Any:
        def reset(metric: Any, *arguments: Any, **keywords: Any) -> Any:
            if not self._of(metric).inside:
                self._tallies[metric] = Tally()
            return original(metric, *arguments, **keywords)

        return reset

    def _of(self, metric: Any) -> Tally:
        tally = self._tallies.get(metric)
        if tally is None:
            tally = self._tallies[metric] = Tally()
        return tally

    def _read(self, metric: Any) -> None:
        tally = self._of(metric)
        if not tally.inside:
            tally.read = True

    def _updated(self, metric: Any) -> None:
        """Something was added: with gradients on, the metric follows the training."""
        tally = self._of(metric)
        if tally.inside or tally.told or self.watch.recorder.quiet:
            return
        trains = self.watch.torch.is_grad_enabled()
        if tally.count and tally.read and self._steps > tally.step and not trains:
            tally.told = True
            self._tell(tally.count)
        tally.told |= trains
        tally.count += 1
        tally.step, tally.read = self._steps, False

    def _tell(self, count: int) -> None:
        recorder = self.watch.recorder
        here = recorder.here()
        if here.frame is None:
            return
        holder = recorder.owner(here.site, "update") or recorder.caller(here.site)
        first = recorder.event("Summed", here, holder=holder, started=None, carries=[])
        second = recorder.event("Summed", here, holder=holder, started=None, carries=[first])
        recorder.measured(claims.TALLY_KEPT, float(count), "batches", site=here.site, about=[second])
