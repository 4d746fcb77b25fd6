"""Processes of a distributed run: gradients that they average, and rows that they read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from torch_doctor.trace import GradientsSeen, RowsDrawn, Wrapped
from torch_doctor_rules.judging.evidence import fact, short

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.rule import Evidence
    from torch_doctor.trace import Trace

SAME = 1e-4
"""What two numbers differ by, relative to the larger, at most where one is the other's copy or both are one average."""


class Apart(Struct, frozen=True):
    """A gradient that two processes step with, and by how much its numbers differ at most."""

    name: str
    difference: float
    scale: float

    @property
    def real(self) -> bool:
        """Whether it is more than rounding."""
        return self.difference > SAME * self.scale


class Ranks:
    """The processes of a run, by rank: `traces`, none where the script ran in one. `trace` is that of the first."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.traces = trace.ranks

    def __bool__(self) -> bool:
        return len(self.traces) > 1

    def all(self) -> str:
        """What they are called together: `both processes`."""
        return "both processes" if len(self.traces) == 2 else f"all {len(self.traces)} processes"  # noqa: PLR2004 - both

    # --- gradients ---

    def apart(self, module: int) -> Apart | None:
        """The gradient of a wrapped module, by its number in the first process, that differs most between them.

        None where no steps of it were seen in all of them.
        """
        found = [
            Apart(name, abs(one - other), max(abs(one), abs(other)))
            for steps in self._steps(module)
            for one_step in steps[1:]
            for name, numbers in one_step.gradients
            for one, other in zip(numbers, dict(steps[0].gradients).get(name, ()), strict=False)
        ]
        return max(found, key=lambda each: (each.real, each.difference), default=None)

    def averaged(self, module: int) -> bool:
        """Whether they step with the same gradients although their own losses differ."""
        apart = self.apart(module)
        return apart is not None and not apart.real and any(map(_losses_differ, self._steps(module)))

    def difference(self, module: int) -> Iterator[Evidence]:
        """By how much the gradients differ that they step with, where they do."""
        apart = self.apart(module)
        if apart is not None and apart.real:
            by = short(apart.difference)
            text = f"the gradient of {apart.name} differs between processes by {by} after backward"
            yield fact(text, apart.difference)

    def sameness(self, module: int) -> Iterator[Evidence]:
        """That the gradients are the same, where their losses differ."""
        if self.averaged(module):
            yield fact(f"{self.all()} step with the same gradients, although their losses differ", 0, "gradients")

    def _steps(self, module: int) -> list[tuple[GradientsSeen, ...]]:
        """The steps of a module, those of all processes together; it is the same that was wrapped, or stepped, as the same."""
        known = self._numbered(Wrapped)
        if not self or module not in known[0]:
            known = self._numbered(GradientsSeen)
        if not self or module not in known[0]:
            return []
        which = known[0].index(module)
        if any(len(each) <= which for each in known):
            return []
        steps = [
            [event for event in trace.of(GradientsSeen) if event.module == own[which]]
            for trace, own in zip(self.traces, known, strict=True)
        ]
        return list(zip(*steps, strict=False))

    def _numbered(self, kind: type[Wrapped | GradientsSeen]) -> list[list[int]]:
        """The modules of these events, in each process, in the order in which they come."""
        return [list(dict.fromkeys(event.module for event in trace.of(kind))) for trace in self.traces]

    # --- rows ---

    def rows(self, sampler: int) -> list[list[RowsDrawn]]:
        """The passes over a sampler, by its number in the first process, in each of them."""
        known = [list(dict.fromkeys(event.sampler for event in trace.of(RowsDrawn))) for trace in self.traces]
        if not self or sampler not in known[0] or any(len(each) <= known[0].index(sampler) for each in known):
            return []
        own = [each[known[0].index(sampler)] for each in known]
        return [passes(trace, number) for trace, number in zip(self.traces, own, strict=True)]


def passes(trace: Trace, sampler: int) -> list[RowsDrawn]:
    """What a sampler gave, pass for pass."""
    return [event for event in trace.of(RowsDrawn) if event.sampler == sampler]


def _losses_differ(steps: tuple[GradientsSeen, ...]) -> bool:
    losses = [step.loss for step in steps if step.loss is not None]
    return any(abs(one - losses[0]) > SAME * max(abs(one), abs(losses[0])) for one in losses[1:])
