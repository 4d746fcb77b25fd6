"""Calls the members of a `Sequential` one after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.values import Call, Content, Either, Module, Unknown, Value, either

if TYPE_CHECKING:
    from torch_doctor.static.run import Run

_MEMBER = 0.25
"""Steps that calling a member of a `Sequential` is: no line of the source stands for it."""


def chained(run: Run, module: Module, content: Content, call: Call) -> Value:
    """Call the members of a `Sequential`, each with what the one before it returned."""
    value: Value = call.argument(0) or Unknown()
    first = True
    run.position.modules_called += (module,)
    last = content.end if content.rest is not None else None
    for item in content.items:
        if item is last:
            continue  # it comes behind those that are not told apart
        run.spend(_MEMBER)
        value = run.call(item, Call(call.args if first else (value,), call.keywords if first else {}, call.node))
        first = False
    rest = _without(content.rest, last)
    if rest is not None:
        value = run.call(rest, Call(call.args if first else (value,), {}, call.node))
    if last is not None:
        value = run.call(last, Call((value,), {}, call.node))
    run.position.modules_called = run.modules_called[:-1]
    return value


def _without(rest: Value | None, last: Value | None) -> Value | None:
    """What the members that are not told apart stand for, beside the very last one."""
    if isinstance(rest, Either) and last is not None:
        return either((facts, option) for facts, option in rest.options if option is not last)
    return None if rest is last else rest
