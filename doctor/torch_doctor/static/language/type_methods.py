"""Functions that do what a statement or a method does: `operator.setitem(table, key, value)`, `dict.update(table, ...)`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static import program as p
from torch_doctor.static.language import item_targets, streams
from torch_doctor.static.library import Stage, library, library_family
from torch_doctor.static.tables.importing import CHANGING
from torch_doctor.static.values import NOTHING, Call, FunctionValue, Mapping, Sequence, Value

if TYPE_CHECKING:
    from torch_doctor.static.run import Run

_TYPES = frozenset(f"builtins.{of}.{name}" for of in ("dict", "list", "set") for name in CHANGING)
_FOLDED = 8
"""Items of which each is handed to the function of `reduce`; of more, the last one stands for all."""


@library_family(_TYPES)
def method_of_type(run: Run, name: str, call: Call) -> Value | None:
    """A method of a type that is given its object."""
    of = run.resolve(call.args[0]) if call.args else None
    if not isinstance(of, (Mapping, Sequence)):
        return None
    method = run.attribute(of, name.rpartition(".")[2], call.node)
    return run.call(method, Call(call.args[1:], call.keywords, call.node))


@library("operator.setitem")
def set_item(run: Run, _: str, call: Call) -> Value | None:
    """`operator.setitem(holder, key, value)`."""
    node = call.node
    if len(call.args) != 3 or not isinstance(node, p.Call) or len(node.args) != 3:
        return None
    holder, key, value = call.args
    item_targets.set_item(run, run.resolve(holder), key, value, node, p.Index(node.at, node.args[0], node.args[1]))
    return NOTHING


@library("functools.reduce", stage=Stage.NOTE)
def reduced(run: Run, _: str, call: Call) -> Value | None:
    """`functools.reduce(function, items, first)`: the function is called; what it comes to is left to others."""
    function = run.resolve(call.args[0]) if len(call.args) == 3 else None
    if isinstance(function, FunctionValue) and function.node not in run.entered:
        stream, so_far = streams.stream_of(run, call.args[1]), call.args[2]
        items = stream.content.all()[-_FOLDED:] if stream.content is not None else (stream.item,)
        for item in items:
            so_far = run.call(function, Call((so_far, item), {}, call.node))
    return None
