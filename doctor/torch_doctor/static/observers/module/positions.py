"""Rows of tables that are added to sequences: one for each sample, where one for each step is meant."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from torch_doctor.static.domains.axes.comparing import PASSING, made_of, options
from torch_doctor.static.measuring import measured
from torch_doctor.static.observer import Observer, override
from torch_doctor.static.observers.module.mixed_rows import loader_of, rows_first
from torch_doctor.static.values import Making, ParameterValue, Tensor, shapes
from torch_doctor.trace import PositionsAdded, Source

if TYPE_CHECKING:
    from torch_doctor.static import program as p
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Call, Value

SEQUENCES: Final = 3
"""Dimensions of a batch of sequences: samples, steps, features."""
_PASSED_ON: Final = PASSING | {"unsqueeze", "expand", "expand_as"}
_DEEPEST: Final = 8


class Positions(Observer, operated=("+",), made=lambda name: name.rpartition(".")[2] in ("add", "add_")):
    """Watches what is added to a loader's batch of sequences."""

    writes = (PositionsAdded,)

    @override
    def operated(self, run: Run, op: str, operands: tuple[Value, ...], result: Value, node: p.Node) -> None:
        """A sum of two tensors."""
        self._added(run, operands, node)

    @override
    def made(self, run: Run, name: str, call: Call, result: Value) -> None:
        """`torch.add(x, table[:n])`, or the method."""
        self._added(run, call.args, call.node)

    def _added(self, run: Run, operands: tuple[Value, ...], node: p.Node) -> None:
        for whole, rows in (operands[:2], operands[1::-1]) if len(operands) > 1 else ():
            shape, added = rows_first(whole), measured(rows).shape if isinstance(rows, Tensor) else None
            if shape is None or added is None or not len(shape) == len(added) == SEQUENCES or shape[1] == 1:
                continue
            if added[:2] == (shapes.BATCH, 1) and not loader_of(rows) and _is_of_a_table(rows):
                run.emit(PositionsAdded, node, name=run.text(node), shape=shape, over_batch=True)


def _is_of_a_table(value: Value) -> bool:
    """Whether a tensor has the first rows of a buffer, a parameter or the weight of an embedding."""
    for _ in range(_DEEPEST):
        value = options(value)[0]
        made = made_of(value)
        if made is None or not made.args:
            return False
        if made.name == "nn.Embedding":
            return _counts(made.args[0])
        if made.name == "[]" and _is_table(made.args[0]):
            return True
        if made.name not in _PASSED_ON and made.name != "[]":
            return False
        value = made.args[0]
    return False


def _is_table(value: Value) -> bool:
    """Whether a tensor has a number of rows that is known, and nothing of a batch or a model is in it."""
    rows = (measured(value).shape if isinstance(value, (Tensor, ParameterValue)) else None) or (None,)
    own = isinstance(value, ParameterValue) or not (value.flow.forwards or value.flow.source is Source.LOADER)
    return own and isinstance(rows[0], int)


def _counts(value: Value) -> bool:
    """Whether a tensor counts up: `torch.arange(n)`, in whatever form."""
    for _ in range(_DEEPEST):
        made: Making | None = made_of(options(value)[0])
        if made is None or made.name == "arange" or not made.args:
            return made is not None and made.name == "arange"
        if made.name not in _PASSED_ON:
            return False
        value = made.args[0]
    return False
