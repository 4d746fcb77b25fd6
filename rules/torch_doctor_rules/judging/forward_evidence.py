"""Evidence of forwards: how many batches ran in which way, and what one batch gives when it is evaluated twice."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.trace import Forward, Reevaluated, Trace
from torch_doctor_rules.judging.evidence import fact, two

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from torch_doctor.rule import Evidence
    from torch_doctor.trace import Tri


def batches(
    forwards: Sequence[Forward], how: str, holds: Callable[[Forward], Tri], noun: str = "evaluation batches"
) -> Iterator[Evidence]:
    """How many of the forwards went one way."""
    found = sum(bool(holds(event)) for event in forwards)
    if forwards:
        yield fact(f"{found} of {len(forwards)} {noun} {how}", found, "batches", forwards[0])


def answers(trace: Trace, forwards: Sequence[Forward], how: str, holds: Callable[[Forward], Tri]) -> Iterator[Evidence]:
    """What the same batch gave twice, and how many batches ran one way."""
    indices = {event.index: event for event in forwards}
    again = [event for event in trace.of(Reevaluated) if event.forward in indices and event.difference]
    for event in again[:1]:
        text = f"the same batch gave {two(event.first, event.second)}"
        yield fact(text, event.difference, "", indices[event.forward])
    yield from batches(forwards, f"run {how}", holds)
