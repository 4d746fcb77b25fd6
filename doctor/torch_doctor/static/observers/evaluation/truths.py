"""Comparisons of booleans with a number that no boolean can reach."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from torch_doctor.static import program as p
from torch_doctor.static.measuring import measured
from torch_doctor.static.observer import Named, Observer, override
from torch_doctor.static.state import per_run
from torch_doctor.static.tables.canonical import canonical
from torch_doctor.static.training.data.arrays import tensor_of
from torch_doctor.static.values import Const, Lib, Making, Method, Tensor
from torch_doctor.trace import OUT_OF_REACH, NumberCompared

if TYPE_CHECKING:
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Call, Value
    from torch_doctor.trace import Site

_SIGNS: Final = {
    "eq": "==",
    "ne": "!=",
    "not_equal": "!=",
    "gt": ">",
    "greater": ">",
    "ge": ">=",
    "greater_equal": ">=",
}
_MIRRORED: Final = {"==": "==", "!=": "!=", "<": ">", "<=": ">="}
"""Signs between a number on the left and what it is compared with, by the sign that says the same from the right."""
_ADDING: Final = frozenset(("+", "add", "add_"))


class Truths(
    Observer,
    called=(Method, Named(Lib, lambda name: canonical(name).removeprefix("torch.") in _SIGNS)),
    computed=frozenset((*OUT_OF_REACH, *_MIRRORED)),
):
    """Comparisons of tensors and arrays that hold booleans with numbers that are neither 0 nor 1."""

    writes = (NumberCompared,)

    _told: set[Site] = per_run(set)
    _others: set[Site] = per_run(set)

    @override
    def called(self, run: Run, func: Value, call: Call, result: Value) -> None:
        """`a.eq(2)`, and `torch.eq(a, 2)`."""
        if isinstance(func, Method):
            name, given = func.name, (func.of, *call.values)
        else:
            name, given = canonical(func.name).removeprefix("torch.") if isinstance(func, Lib) else "", call.values
        if name in _SIGNS and len(given) == 2:
            self._compared(run, _SIGNS[name], given[0], given[1], call.node)

    @override
    def computed(self, run: Run, op: str, operands: tuple[Value, ...], node: p.Node) -> None:
        """`a + b == 2`, and `2 == a + b`."""
        left, right = operands
        if op in OUT_OF_REACH:
            self._compared(run, op, left, right, node)
        if op in _MIRRORED:
            self._compared(run, _MIRRORED[op], right, left, node)

    def _compared(self, run: Run, sign: str, value: Value, number: Value, node: p.Node) -> None:
        if not isinstance(number, Const) or not isinstance(number.value, (int, float)):
            return
        tensor = value if isinstance(value, Tensor) else tensor_of(value)
        if not OUT_OF_REACH[sign](number.value):
            return
        here, dtype = run.site(node), "" if tensor is None else measured(tensor).dtype
        if tensor is None or dtype != "bool":
            self._others.add(here)  # booleans are one of several things that are compared there
            if here in self._told:
                run.emit(NumberCompared, node, sign=sign, number=number.value, dtype=dtype)
            return
        if here in self._others:
            return
        self._told.add(here)
        made = tensor.meta
        added = isinstance(made, Making) and made.name in _ADDING
        run.emit(NumberCompared, node, sign=sign, number=number.value, dtype="bool", name=_name(run, node), added=added)


def _name(run: Run, node: p.Node) -> str:
    """What is compared, as the script writes it."""
    if isinstance(node, p.Compare):
        side = node.right if isinstance(node.left, p.Const) else node.left
        return run.text(side)
    if isinstance(node, p.Call) and isinstance(node.func, p.Attribute) and len(node.args) == 1:
        return run.text(node.func.value)
    return run.text_of_argument(node, 0) if isinstance(node, p.Call) else ""
