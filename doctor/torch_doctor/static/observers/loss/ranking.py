"""Functions that choose the largest scores along a dimension, and what their choice is compared with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from torch_doctor.static.measuring import size_at, with_facts
from torch_doctor.static.observer import Observer
from torch_doctor.static.tables.canonical import canonical
from torch_doctor.static.values import Const, Lib, Method, Sequence, Tensor
from torch_doctor.trace import Compared, Kind, Ranked

if TYPE_CHECKING:
    from torch_doctor.static import program as p
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Call, Value

_DIM: Final = {"argmax": 1, "max": 1, "topk": 2}
"""The position of `dim` after the tensor, by function."""
_LAST: Final = Const(-1)
_COMPARING: Final = frozenset(("eq", "ne", "==", "!="))


class Ranking(Observer, called=(Method, Lib)):
    """Along which dimension of what tensor the largest are looked for, and where their places are compared with labels."""

    writes = (Ranked, Compared)

    def __init__(self) -> None:
        self._chosen: dict[int, tuple[Tensor, int]] = {}  # by the tensor's id: itself, and the event that it comes from

    def called(self, run: Run, func: Value, call: Call, result: Value) -> None:
        """Write a choice, follow it through other methods, and write what it is compared with."""
        if isinstance(func, Method):
            name = f"torch.{func.name}"
        elif isinstance(func, Lib):
            name = canonical(func.name)
        else:
            return
        short = name.removeprefix("torch.")
        if not self._chosen and short not in _DIM and short not in _COMPARING:
            return
        if isinstance(func, Method):
            call = call.with_first(func.of)
        given = call.argument(0, "input")
        if short in _COMPARING:
            self.computed(run, short, call.values, call.node)
        elif id(given) in self._chosen and isinstance(result, Tensor) and result.kind is Kind.LABELS:
            self._chosen[id(result)] = result, self._chosen[id(given)][1]
        elif short in _DIM and isinstance(given, Tensor):
            dim = call.argument(_DIM[short], "dim", "axis", "**") or (_LAST if short == "topk" else None)
            along = None if dim is None else size_at(dim)
            if isinstance(along, int):
                fact = with_facts(run.fact(given), given)
                event = run.emit(Ranked, call.node, function=name, input=fact, dim=along)
                self._chosen |= {id(value): (value, event.index) for value in _places(result)}

    def computed(self, run: Run, op: str, operands: tuple[Value, ...], node: p.Node) -> None:
        """Write a comparison of what was chosen with something else."""
        if op not in _COMPARING or not self._chosen:
            return
        for value, other in zip(operands, reversed(operands), strict=True):
            if id(value) in self._chosen and id(other) not in self._chosen:
                run.emit(Compared, node, chosen=self._chosen[id(value)][1], target=with_facts(run.fact(other), other))


def _places(result: Value) -> list[Tensor]:
    """The places of the largest in what such a function returned."""
    values = result.content.items if isinstance(result, Sequence) else (result,)
    return [value for value in values if isinstance(value, Tensor) and value.kind is Kind.LABELS]
