"""Applies arithmetic operators to values of every sort."""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from torch_doctor.static import dispatch, periodic
from torch_doctor.static import program as p
from torch_doctor.static.domains import channels
from torch_doctor.static.flow import NONE, Flow, blend
from torch_doctor.static.iteration import UNROLLED
from torch_doctor.static.language import alternatives, shape_items
from torch_doctor.static.language.defaults import by_default
from torch_doctor.static.measuring import making
from torch_doctor.static.tables import arrays as arrays_table
from torch_doctor.static.tables.functions import REACH_ZERO
from torch_doctor.static.tables.kinds import Effect
from torch_doctor.static.training import cross_device, filling, fitting, kinds, places, plain_tensors, sums, written_out
from torch_doctor.static.training.data import arrays
from torch_doctor.static.training.graph import keeping
from torch_doctor.static.training.module import module_parts
from torch_doctor.static.values import (
    MADE_OF_GRADIENTS,
    Const,
    Content,
    Default,
    Either,
    Grads,
    Lib,
    Number,
    ParameterValue,
    Params,
    Plain,
    Sequence,
    Tensor,
    Unknown,
    Value,
    Zero,
    compound,
    held,
    number_dtype,
    plain_from,
    summary,
    symbol_of,
    texts,
)
from torch_doctor.static.values.shapes import Making, is_integer, number, read, read_from
from torch_doctor.trace import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from torch_doctor.static.run import Run
    from torch_doctor.trace import Site

_ARITHMETIC: dict[str, Callable[..., Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
}
_EFFECTS = {
    **{(effect.value, 2): effect for effect in Effect},
    ("-", 1): Effect.NEGATED,
    ("+", 1): Effect.MOVED,
}
"""What operators do to numbers, by sign and number of operands."""
_OF_SIZES = frozenset(("*", "//"))
"""The operators that make sizes of others."""
_JOINS = {"+": "", "/": "/"}
"""The operators that join texts, and what they put between them: folders and files are divided by a slash."""
_CONSTANTS = frozenset((Const, Zero, Default))
_NUMBERS = _CONSTANTS | {Plain, Number}
"""The classes of values that hold no tensor."""
_ARRAYS = _NUMBERS | {Sequence}  # values that an array may be computed of
_SIZES = _NUMBERS | {Unknown}  # values that may be sizes
_LARGE = 1_000_000
_LONG = 10_000
_HIGH = 64


def _operation(run: Run, node: p.Operation) -> Value:
    return operate(run, node.op, tuple(run.resolve(run.evaluate(operand)) for operand in node.operands), node)


def operate(run: Run, op: str, operands: tuple[Value, ...], node: p.Node) -> Value:
    """Apply an operator."""
    for observe in run.observers.computed[op]:
        observe(run, op, operands, node)
    operands = tuple(map(_named_number, operands))
    if op == "%" and isinstance(operands[0], Const) and isinstance(operands[0].value, str):
        return _interpolated(operands) or Plain()
    classes = {value.__class__ for value in operands}
    if classes <= _CONSTANTS:
        computed = _computed(op, [value.value for value in operands if isinstance(value, Const)])
        chosen = any(isinstance(value, Default) for value in operands)
        return by_default(computed, compound(op, *map(symbol_of, operands))) if chosen else computed
    if classes <= _ARRAYS and (picture := channels.operated(op, operands, run.site(node))) is not None:
        return fitting.combined(run, op, operands, plain_from(operands, picture))
    if Sequence in classes and (sequence := _on_sequence(run, op, operands, node)) is not None:
        return sequence
    if op in ("%", "//") and (whole := _divided(run, op, operands)) is not None:
        return whole
    if classes <= _NUMBERS:
        if op in _JOINS and (text := texts.joined(operands, _JOINS[op])) is not None:
            return text
        if (size := arrays.operated(op, operands)) is None:
            size = number(map(number_dtype, operands)) if op in ("+", "-", "*", "//", "%") else None
            size = _scaled(op, operands, size)
        plain = plain_from(operands, compound(op, *(symbol_of(value) for value in operands)), size=size)
        plain = sums.number_with(op, plain, operands) if op in "+-" else sums.ratio_with(run, op, plain, operands, node)
        return fitting.combined(run, op, operands, plain)
    lists = [value for value in operands if isinstance(value, Params) and not value.single]
    if op == "+" and len(lists) == len(operands):
        modules = frozenset[int]().union(*(value.modules for value in lists))
        return Params(modules, whole=all(value.whole for value in lists))
    flow = sums.apart(op, operands, recorded(run, blend(value.flow for value in operands)))
    if flow.means and op not in "+-":
        flow = replace(flow, means=NONE)
    if op in "*/" and (means := sums.ratio(run, op, operands, node)):
        flow = replace(flow, means=means)
    flow = divided(flow) if op in "*/" and flow.graph is not False else flow
    if any(isinstance(value, (Tensor, ParameterValue)) for value in operands) or (
        all(isinstance(value, alternatives.ARITHMETIC) for value in operands)
    ):
        flow = with_parameters(run, flow, operands)
        differs = op == "-" and len(operands) > 1
        meta = making(op, operands, of=run.text(node) if differs else None, site=run.site(node) if differs else None)
        made = plain_tensors.combined(run, op, operands, node)
        cross_device.together(run, op, operands, node)
        kind, operation, site = _meaning(op, operands)
        origin = (places.result(run, operands) if made is None else made).by(operation, site)
        tensor = Tensor(flow, kind, origin, scalar=_scalar(op, operands), meta=meta)
        for tell in run.observers.operated[op]:
            tell(run, op, operands, tensor, node)
        return fitting.combined(run, op, operands, tensor)
    if any(isinstance(value, Either) for value in operands):
        plain_tensors.combined(run, op, operands, node)
        if (several := alternatives.operated(run, op, operands, flow, node)) is not None:
            return fitting.combined(run, op, operands, several)
    sizes = op in _OF_SIZES and (Plain in classes or classes <= _SIZES)
    symbol = compound(op, *map(symbol_of, operands)) if sizes else None
    return fitting.combined(run, op, operands, Unknown(flow, held(operands), symbol))


def _divided(run: Run, op: str, operands: tuple[Value, ...]) -> Const | None:
    """What is left of a number that the other one divides, or how often it goes into itself; None where neither is known."""
    if op == "%":
        return Const(0) if _divides(run, *operands) else None
    sizes = all(value.__class__ in _SIZES for value in operands)
    return Const(1) if sizes and symbol_of(operands[0]) == symbol_of(operands[1]) else None


def _named_number(value: Value) -> Value:
    """What a name of a library stands for, where that is a number."""
    known = arrays_table.NUMBERS.get(value.name) if isinstance(value, Lib) else None
    return value if known is None else Const(known)


def _divides(run: Run, number: Value, by: Value) -> bool:
    """Whether nothing is left of a division: 1 divides every whole number."""
    if not (isinstance(by, Const) and type(by.value) is int and by.value == 1 and isinstance(number, Plain)):
        return False
    return is_integer(number_dtype(number)) or periodic.whole(number.symbol) or sums.counts(run, number)


def _scaled(op: str, operands: tuple[Value, ...], size: Making | None) -> Making | None:
    """How a product or quotient of numbers was made: where one was read from a value, it is still a number of that."""
    found = [of for value in operands if (of := read_from(getattr(value, "size", None))) is not None]
    if op not in ("*", "/") or len(found) != 1:
        return size
    return read(found[0], "" if size is None else str(size.of))


def divided(flow: Flow) -> Flow:
    """The history of a product or quotient."""
    return flow if flow.divided else replace(flow, divided=True)


def recorded(run: Run, flow: Flow) -> Flow:
    """What the current grad mode leaves of a computation's history."""
    grad = run.grad
    if grad is True or flow.graph is False:
        return flow
    if grad is False:
        return flow.cut()
    return replace(flow, graph=None)


def with_parameters(run: Run, flow: Flow, operands: Iterable[Value]) -> Flow:
    """The history of what is computed of these, some of which may be parameters of modules that require gradients."""
    owners = frozenset[int]().union(*(each.modules for each in operands if isinstance(each, Params) and not each.cut))
    needed = False if run.grad is False else module_parts.requires_gradients(run, owners)
    if needed is False:
        return flow
    return replace(flow, graph=flow.graph or (run.grad if needed else None), modules=flow.modules | owners)


def _interpolated(operands: tuple[Value, ...]) -> Value | None:
    """The text that `"..." % values` is."""
    text, *given = operands
    if not isinstance(text, Const) or not isinstance(text.value, str) or len(given) != 1:
        return None
    values = given[0].content if isinstance(given[0], Sequence) and given[0].kind == "tuple" else Content((given[0],))
    return texts.interpolated(text.value, values.items) if values.rest is None else None


def _on_sequence(run: Run, op: str, operands: tuple[Value, ...], node: p.Node) -> Value | None:
    operands = tuple(map(shape_items.listed, operands))
    first, *others = operands if isinstance(operands[0], Sequence) or op != "*" else operands[::-1]
    filled = filling.joined(run, operands, node) if op == "+" else {}
    if filled:
        parts = [each.content.all() if isinstance(each, Sequence) else (Unknown(),) for each in operands]
        row: Sequence = run.own(Sequence("list", Content((), summary(sum(parts, ()))), run.site(node), run.frame.what))
        row.facts.update(filled)
        return row
    if not isinstance(first, Sequence) or not others:
        return None
    if op == "+" and isinstance(operands[1], Sequence):
        carries = first.flow.retained
        added = operands[1].content
        if operands[1].flow.graph is not False:
            of, more = node.operands[:2] if isinstance(node, p.Operation) else (node, node)
            holder, names = run.text(of), written_out.names(run, more, len(added.items))
            items = tuple(
                keeping.keep_item(run, item, carries, node, holder, name, bounded=False)
                for item, name in zip(added.items, names, strict=True)
            )
            added = Content(items, added.rest, added.end)
        content = _appended(first.content, added)
        return run.own(Sequence(first.kind, content, run.site(node), run.frame.what))
    if op == "*":
        times, content = others[0], first.content
        if isinstance(times, Const) and isinstance(times.value, int) and times.value <= UNROLLED:
            made = Content(content.items * times.value, content.rest)
        else:
            made = Content(content.items, summary(content.all()) if content.all() else None)
        return filling.repeated(run.own(Sequence(first.kind, made, run.site(node), run.frame.what)), times)
    return None


def _computed(op: str, values: list[Any]) -> Value:
    if op == "-" and values == [math.inf]:
        return Const(-math.inf)
    if any(isinstance(value, (int, float)) and abs(value) > _LARGE for value in values):
        return Plain()
    if any(isinstance(value, (str, bytes, tuple)) and len(value) > _LONG for value in values):
        return Plain()
    if op == "**" and not (isinstance(values[-1], (int, float)) and abs(values[-1]) <= _HIGH):
        return Plain()
    try:
        if len(values) == 1:
            return Const(-values[0]) if op == "-" else Plain()
        if op not in _ARITHMETIC or (op in "*%" and any(isinstance(value, (str, bytes)) for value in values)):
            return Plain()
        return Const(_ARITHMETIC[op](*values))
    except (TypeError, ValueError, ArithmeticError):
        return Plain()


def _appended(left: Content, right: Content) -> Content:
    if left.rest is None:
        return Content((*left.items, *right.items), right.rest, right.end)
    return Content(left.items, summary((left.rest, *right.all())), right.last if right.all() else left.end)


def _meaning(op: str, operands: tuple[Value, ...]) -> tuple[Kind, str, Site | None]:
    """What the numbers of the result mean, and which operation gave them that, and where."""
    kept = kinds.computed(_EFFECTS.get((op, len(operands)), Effect.OTHER), operands)
    gradients = any(
        isinstance(value, Grads) or (isinstance(value, Tensor) and value.origin.operation == MADE_OF_GRADIENTS)
        for value in operands
    )
    if kept.of is None or kept.kind is Kind.LOSS:
        return kept.kind, MADE_OF_GRADIENTS if gradients else "", None
    origin = kept.of.origin
    operation = origin.operation if kept.zeros or kept.kind not in REACH_ZERO else op
    return kept.kind, MADE_OF_GRADIENTS if gradients else operation, origin.site


def _scalar(op: str, operands: tuple[Value, ...]) -> bool | None:
    """Whether the result is a single number; arithmetic with something larger is as large, a product of matrices may not be."""
    found = [
        True if isinstance(value, (Const, Plain)) else value.scalar if isinstance(value, Tensor) else None
        for value in operands
    ]
    if all(found):
        return True
    return False if False in found and op != "@" else None


dispatch.EXPRESSIONS[p.Operation] = _operation
