"""Differences of tensors of different shapes that a loss was made of: found from how it was made, when it goes backward."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.measuring import measured, with_facts
from torch_doctor.static.observer import Observer, override
from torch_doctor.static.tables.functions import DIFFERENCES
from torch_doctor.static.values import Either, Making, Sequence, Tensor, Value
from torch_doctor.trace import Broadcast

if TYPE_CHECKING:
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Call

MOST = 100
"""Steps of a computation that are looked at, from its end."""


class Broadcasts(Observer):
    """Differences of tensors with different numbers of dimensions, of which a loss is made that goes backward."""

    writes = (Broadcast,)

    @override
    def backward(self, run: Run, loss: Value, _: Call) -> None:
        """Write the differences behind a loss; what happened within a module that was called is its own."""
        waiting: list[Value] = [loss]
        seen: set[int] = set()
        while waiting and len(seen) < MOST:
            value = waiting.pop()
            if isinstance(value, Either):
                waiting += [option for _, option in value.options]
            elif isinstance(value, Sequence):
                waiting += value.content.all()
            if not isinstance(value, Tensor) or not isinstance(value.meta, Making) or id(value.meta) in seen:
                continue
            made = value.meta
            seen.add(id(made))
            waiting += made.args
            if made.name in DIFFERENCES:
                _tell_one(run, made)


def _tell_one(run: Run, made: Making) -> None:
    if made.site is None or len(made.args) < 2:
        return
    left, right = made.args[:2]
    shapes = measured(left).shape, measured(right).shape
    if shapes[0] and shapes[1] and len(shapes[0]) != len(shapes[1]):
        run.emit(
            Broadcast,
            made.site,
            name=made.of if isinstance(made.of, str) else "",
            left=with_facts(run.fact(left), left),
            right=with_facts(run.fact(right), right),
        )
