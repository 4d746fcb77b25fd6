"""Calls Python's functions over what can be iterated."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static import program as p
from torch_doctor.static.domains.rows import holding
from torch_doctor.static.flow import Flow
from torch_doctor.static.iteration import UNROLLED
from torch_doctor.static.language import comprehensions, operators, streams
from torch_doctor.static.library import library
from torch_doctor.static.measuring import measured
from torch_doctor.static.program.walking import walk
from torch_doctor.static.training import list_sums
from torch_doctor.static.values import (
    NOTHING,
    Call,
    Const,
    Content,
    FunctionValue,
    Params,
    Plain,
    Stream,
    Tensor,
    Unknown,
    Value,
    compound,
    latest,
    plain_from,
    summary,
    symbol_of,
)

if TYPE_CHECKING:
    from torch_doctor.static.run import Run


@library("builtins.iter")
def iterator(run: Run, _: str, call: Call) -> Value:
    """`iter(items)`."""
    return streams.stream_of(run, call.argument(0) or NOTHING)


@library("builtins.map", "builtins.filter")
def mapped(run: Run, name: str, call: Call) -> Value:
    """`map(function, items)` and `filter(function, items)`."""
    run.of(holding.Rows).samples += 1
    result = _mapped(run, name.removeprefix("builtins."), call)
    run.of(holding.Rows).samples -= 1
    return result


def _mapped(run: Run, name: str, call: Call) -> Value:
    function, *iterables = call.args
    if not iterables:
        return Unknown()
    stream = streams.stream_of(run, iterables[0])
    if name == "filter":
        if isinstance(iterables[0], Params):
            return iterables[0]
        return Stream(stream.item, None, stream.loader)
    if (
        stream.content is not None
        and stream.content.rest is None
        and len(iterables) == 1
        and len(stream.content.items) <= UNROLLED
    ):
        items = tuple(run.call(function, Call((item,), {}, call.node)) for item in stream.content.items)
        return Stream(summary(items) if items else Unknown(), Content(items))
    number = latest()
    given = tuple(streams.stream_of(run, iterable).item for iterable in iterables)
    again = comprehensions.iterations(run) if _ignores_all(function) else run.position.again
    with run.override(again=again):
        item = run.call(function, Call(given, {}, call.node))
    comprehensions.stand_for_several(run, [item], number)
    return Stream(item)


def _ignores_all(function: Value) -> bool:
    """Whether a function has no use for what it is given."""
    if not isinstance(function, FunctionValue):
        return False
    given = {parameter.name for parameter in function.node.parameters}
    return not any(isinstance(each, p.Name) and each.id in given for each in walk(function.node.body))


@library("builtins.sum", "builtins.max", "builtins.min")
def reduced(run: Run, name: str, call: Call) -> Value:
    """The sum, the largest or the smallest of several values."""
    name = name.removeprefix("builtins.")
    if name != "sum" and len(call.args) > 1:
        values: tuple[Value, ...] = call.args
    else:
        stream = streams.stream_of(run, call.args[0]) if call.args else Stream(Plain())
        values = stream.content.all() if stream.content is not None else (stream.item,)
    known = [
        value.value
        for value in values
        if type(value) is Const and isinstance(value.value, int) and not isinstance(value.value, bool)
    ]
    if name != "sum" and values and len(known) == len(values):
        return Const(max(known) if name == "max" else min(known))
    if not values or all(isinstance(value, (Const, Plain)) for value in values):
        made = plain_from(values, None if name == "sum" else compound(name, *map(symbol_of, values)))
        return list_sums.summed_up(run, call.args[0], values, made, call.node) if name == "sum" and values else made
    result: Value = values[0]
    if name == "sum" and measured(result).dtype == "bool":
        result = operators.operate(run, "+", (Const(0), result), call.node)  # of booleans, 0 makes numbers
    for value in values[1:]:
        result = operators.operate(run, "+", (result, value), call.node)
    if isinstance(result, Params):
        return Tensor(Flow(graph=run.grad, modules=result.modules))
    return list_sums.summed_up(run, call.args[0], values, result, call.node) if name == "sum" else result
