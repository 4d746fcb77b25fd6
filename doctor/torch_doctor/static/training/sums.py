"""Sums over steps: where they start, what is added, and what they are divided by."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from torch_doctor.static.flow import NONE
from torch_doctor.static.values import Const, Number, Plain, Tensor, Unknown, Value, Zero
from torch_doctor.trace import Averaged, Summed

if TYPE_CHECKING:
    from torch_doctor.static import program as p
    from torch_doctor.static.executor import Executor


def started(run: Executor, value: Value, node: p.Node) -> Value:
    """What a name gets: a zero remembers where it was assigned."""
    if (
        isinstance(value, Const)
        and not isinstance(value, Zero)
        and type(value.value) in (int, float)
        and not value.value
    ):
        return Zero(value.value, run.site(node))
    return value


def summed(run: Executor, old: Value, result: Value, node: p.Augment) -> Value:
    """`holder += something`: the sum, which remembers what went into it."""
    if node.op != "+" or not run.loop_depth or run.modules_called or isinstance(result, Const):
        return result
    earlier = [event for event in run.trace.at(*old.flow.sums) if isinstance(event, Summed)]
    start = old.site if isinstance(old, Zero) else next((event.started for event in earlier), None)
    if start is None:
        return result
    event = run.emit(Summed, node, holder=run.text(node.target), started=start, carries=old.flow.sums)
    flow = replace(result.flow, sums=old.flow.sums | {event.index})
    if isinstance(result, Plain):
        return Number(flow, size=result.size)
    if isinstance(result, Tensor):
        return result.with_flow(flow)
    return Unknown(flow, result.holds) if type(result) is Unknown else result


def divided(run: Executor, operands: tuple[Value, ...], node: p.Node) -> None:
    """`sum / something`."""
    if len(operands) > 1 and operands[0].flow.sums:
        by = operands[1]
        symbol = by.symbol if isinstance(by, Plain) else NOTHING
        length = symbol[1] if symbol[0] == "len" and isinstance(symbol[1], int) else 0
        run.emit(Averaged, node, name=run.text(node), sums=operands[0].flow.sums, length=length, by=by.flow.sums)


NOTHING = ("", NONE)
