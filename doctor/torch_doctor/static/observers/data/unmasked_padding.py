"""Models that read what lies behind the ends of padded sequences."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from torch_doctor.static.domains import unmasked, weighing
from torch_doctor.static.domains.axes.comparing import made_of
from torch_doctor.static.observer import Named, Observer, override
from torch_doctor.static.state import per_run
from torch_doctor.static.tables import shapes
from torch_doctor.static.tables.canonical import among, canonical
from torch_doctor.static.training import cross_device
from torch_doctor.static.values import Call, Lib, Module, Sequence, Tensor, Value
from torch_doctor.trace import ENCODER, PaddingRead

if TYPE_CHECKING:
    from torch_doctor.static import program as p
    from torch_doctor.static.domains.padding import Padding
    from torch_doctor.static.run import Run
    from torch_doctor.trace import Site

_RECURRENT: Final = frozenset(f"torch.nn.{name}" for name in shapes.LAYERS_RECURRENT)
_TAKING: Final = _RECURRENT | {"torch.nn.Linear"}
"""Layers that compute something of the state after the last step."""
_MAXIMA: Final = ("max", "amax")


def _reads(name: str) -> bool:
    """Whether a layer or a model of this name may read padding."""
    return name in unmasked.READERS or name in _TAKING or name.startswith("transformers.")


class UnmaskedPadding(
    Observer,
    invoked=(Named(Module, _reads), Named(Lib, among({*unmasked.READERS, *_TAKING}))),
    made=lambda name: name.rpartition(".")[2] in (*weighing.WEIGHING, *_MAXIMA),
    operated="@",
):
    """Attention and encoders without a mask, recurrent layers that go backward without lengths, and last steps that are used.

    Also attention that is written by hand, and maxima over the steps.
    """

    writes = (PaddingRead,)

    _told: set[tuple[Site, Site]] = per_run(set)

    @override
    def invoked(self, run: Run, func: Value, call: Call) -> None:
        """Write which padding a layer reads."""
        name = func.layer if isinstance(func, Module) else canonical(func.name) if isinstance(func, Lib) else ""
        if name in unmasked.READERS:
            self._write(run, call, unmasked.attended(run, name, call), name)
        if name.startswith("transformers."):
            self._write(run, call, unmasked.unmasked_tokens(run, func, call), ENCODER)
        if isinstance(func, Module) and name in _RECURRENT:
            self._write(run, call, unmasked.gone_through(run, func, call), name)
        if name in _TAKING:
            for value in call.values:
                found = unmasked.ended(run, value)
                if found is not None:
                    self._write(run, call, *found)

    @override
    def operated(self, run: Run, op: str, operands: tuple[Value, ...], result: Value, node: p.Node) -> None:
        """`weights @ values`."""
        self._made(run, Call(operands, {}, node), result)

    @override
    def made(self, run: Run, name: str, call: Call, result: Value) -> None:
        """Products, sums and maxima as functions or methods."""
        if isinstance(result, Sequence) and result.content.items:
            result = result.content.items[0]  # the maxima, before their places
        self._made(run, call, result)

    def _made(self, run: Run, call: Call, result: Value) -> None:
        """Write which padding takes part in what was made by hand."""
        made = made_of(result)
        if made is None or not isinstance(result, Tensor) or result.flow.graph is False:
            return
        if made.name in _MAXIMA:
            self._write(run, call, weighing.greatest(run, made), weighing.MAXIMUM)
        elif made.name in weighing.WEIGHING:
            self._write(run, call, weighing.weighed(run, made), weighing.ATTENTION)

    def _write(self, run: Run, call: Call, found: Padding | None, by: str) -> None:
        if found is None:
            return
        here = run.site(call.node)
        site, name = run.of(cross_device.Meetings).outer_call if run.modules_called else (None, "")
        outer = site or here
        if (outer, found.site) not in self._told:
            self._told.add((outer, found.site))
            run.emit(
                PaddingRead,
                outer,
                name=name if site is not None else call.name,
                reads=True,
                by=by.rpartition(".")[2],
                read_at=here,
                padded_at=found.site,
            )
