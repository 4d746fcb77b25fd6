"""Units that never fire, and outputs that are the same for all inputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..identities import IdentityMap
from .instrument import Instrument as Base

if TYPE_CHECKING:
    from ..scopes import Here
    from ..watching.watch import Watch

MOST = 8  # updates after which no more is looked at
IMAGE = 3  # dimensions from which on the second is the channels
SAME = 1e-6  # relative difference between outputs below which they are the same


class Units:
    """The units of one activation: which were not zero yet, and in how many rows and batches they were looked at."""

    __slots__ = ("alive", "batches", "rows")

    def __init__(self, alive: Any) -> None:
        self.alive = alive
        self.rows = self.batches = 0


class Outputs:
    """What one module answered: whether all rows of all batches were the same, though the inputs were not."""

    __slots__ = ("batches", "constant", "last", "name", "number", "rows", "site", "updates")

    def __init__(self) -> None:
        self.batches = self.rows = self.updates = 0
        self.constant = True
        self.last: Any = None
        self.site = 0
        self.name = ""
        self.number = 0


class Instrument(Base):
    """Looks at `nn.ReLU` in training, and at the answers of modules that are called as a whole."""

    def __init__(self, watch: Watch) -> None:
        super().__init__(watch)
        self._units: IdentityMap[Units] = IdentityMap()
        self._outputs: IdentityMap[Outputs] = IdentityMap()
        self._updates = 0
        self._kinds = (watch.torch.nn.ReLU, watch.torch.nn.ReLU6)
        self._hook = watch.patches.hook(watch.torch.nn.modules.module.register_module_forward_hook, self._activated)

    def _activated(self, module: Any, _: Any, output: Any) -> None:
        if isinstance(module, self._kinds) and not self.watch.recorder.quiet and self.watch.torch.is_grad_enabled():
            self._count(module, output)

    def _count(self, module: Any, output: Any) -> None:
        with self.watch.unwatched(), self.watch.torch.no_grad():
            values = output.detach()
            if values.dim() < 2:  # noqa: PLR2004 - rows and units
                return
            if values.dim() > IMAGE:
                values = values.transpose(1, -1)
            alive = values.reshape(-1, values.shape[-1]).ne(0).any(dim=0)
            known = self._units.get(module)
            if known is None or known.alive.shape != alive.shape:
                known = self._units[module] = Units(alive)
            known.alive = known.alive | alive
            known.rows += output.shape[0]
            known.batches += 1

    def on_forward(
        self, module: Any, arguments: tuple[Any, ...], keywords: dict[str, Any], output: Any, here: Here, event: int
    ) -> None:
        """A module answered: its rows are compared with each other and with those of the batch before."""
        if self._updates > MOST:
            return
        answer = next(iter(self.watch.marks.tensors(output)), None)
        given = next(iter(self.watch.marks.tensors([*arguments, *keywords.values()])), None)
        if answer is None or given is None or not answer.is_floating_point() or not answer.dim() or not given.dim():
            return
        if not self.watch.modules.family(module).parameters:
            return
        if any(each.layout is not self.watch.torch.strided for each in (answer, given)):  # rows of a graph's edges, say
            return
        with self.watch.unwatched(), self.watch.torch.no_grad():
            rows = answer.detach().reshape(answer.shape[0], -1)
            if len(rows) < 2 or len(given) != len(rows) or self._alike(given.detach().reshape(len(given), -1).double()):  # noqa: PLR2004
                return
            seen = self._outputs.setdefault(module, Outputs())
            first = rows[0].double()
            if self._updates < 2:  # noqa: PLR2004 - a head that begins at zero answers alike at first
                return
            seen.batches += 1
            seen.rows += len(rows)
            seen.constant &= self._alike(rows.double())
            if seen.constant and module.training is False and seen.last is not None and seen.last.shape == first.shape:
                seen.constant = self._alike(self.watch.torch.stack([seen.last, first]))
            seen.last, seen.site, seen.updates = first, here.site, self._updates
            seen.name, seen.number = (
                self.watch.recorder.caller(here.site),
                self.watch.recorder.references.number(module),
            )

    def _alike(self, rows: Any) -> bool:
        """Whether all rows are the same, as far as rounding allows."""
        spread = float((rows.max(dim=0).values - rows.min(dim=0).values).max())
        return spread <= SAME * max(1e-12, float(rows.abs().max()))

    def on_step(self, optimizer: Any, here: Here, event: int) -> None:
        """An update was made."""
        self._updates += 1
        if self._updates > MOST:
            self._hook.remove()

    def at_end(self, error: BaseException | None) -> None:
        """Writes what was counted."""
        recorder, here = self.watch.recorder, self.watch.recorder.here()
        for module, units in self._units.items():
            site = self.watch.modules.birthplace(module)
            recorder.event(
                "UnitsSeen",
                here,
                site=here.site if site is None else site,
                name=type(module).__name__,
                operation=f"torch.nn.{type(module).__name__}",
                units=units.alive.numel(),
                dead=int((~units.alive).sum()),
                rows=units.rows,
                batches=units.batches,
            )
        for seen in self._outputs.values():
            if seen.constant and seen.batches:
                recorder.event(
                    "OutputConstant",
                    here,
                    site=seen.site,
                    module=seen.number,
                    name=seen.name,
                    rows=seen.rows,
                    batches=seen.batches,
                    updates=seen.updates,
                )
