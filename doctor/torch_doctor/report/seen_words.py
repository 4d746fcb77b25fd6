"""Plain words for the events that only a run can show."""

from __future__ import annotations

import functools

from torch_doctor import trace as t


@functools.singledispatch
def words(event: t.Event) -> str:
    """The event in words; its class's name where there are none."""
    return type(event).__name__


@words.register
def _(event: t.ParameterSeen) -> str:
    fate = "moved" if event.moved else "never moved"
    owned = "" if event.optimizer else ", in no optimizer"
    return f"parameter `{event.name}`: {event.nonzero} of {event.backwards} backward passes gave it a gradient, {fate}{owned}"


@words.register
def _(event: t.NonFinite) -> str:
    return f"first value that is not finite: {event.value} in the {event.what} `{event.name}`"


@words.register
def _(event: t.UnitsSeen) -> str:
    return f"{event.dead} of {event.units} units were zero in all {event.rows} rows"


@words.register
def _(event: t.OutputConstant) -> str:
    return f"`{event.name}` gives one output for {event.rows} different rows"


@words.register
def _(event: t.Reevaluated) -> str:
    same = f"{event.first:.4g} and {event.second:.4g} ({event.because})" if event.difference else "the same"
    return f"evaluate a batch of `{event.name}` twice: {same}"


@words.register
def _(event: t.MemoryGrew) -> str:
    return f"{event.alive} graphs alive after {event.passes} passes, held by {event.holder or 'something'}"


@words.register
def _(event: t.RoundTripped) -> str:
    answer = f"another answer, by up to {event.difference:.4g}" if event.difference else "the same answer"
    return f"read back what was saved of `{event.name}`: {answer}"


@words.register
def _(event: t.RowsDrawn) -> str:
    return f"a sampler gives {event.count} rows, from row {', '.join(map(str, event.rows[:3]))} on"


@words.register
def _(event: t.GradientsSeen) -> str:
    return f"{len(event.gradients)} gradients are about to be applied"


@words.register
def _(event: t.Exchanged) -> str:
    return f"{event.numbers} numbers go through {event.function}"


@words.register
def _(event: t.DevicesDiffer) -> str:
    return f"`{event.name}` on the CPU and on the GPU: {event.elements} numbers differ, by up to {event.largest:.4g}"
