"""Moves of models to devices and dtypes, and whether they change anything."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.trace import Backward, Moved
from torch_doctor_rules.judging.family import Family

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Event, Trace

AWAY = "cpu"
"""Where models go to be saved, or from a device that is needed for something else."""


def on_gpu(trace: Trace) -> frozenset[int]:
    """The modules that are moved to a GPU, with everything in them."""
    return trace.view(Family).within(move.module for move in trace.of(Moved) if move.device == "cuda" and move.module)


class Moves:
    """The moves of one trace that may change where or in what dtype a module that trains is kept."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.family = trace.view(Family)

    def after(
        self, event: Event, modules: frozenset[int], *, anywhere: bool = False, back: bool = False
    ) -> Iterator[Moved]:
        """The moves of these modules, or parts of them, after the event and before training that follows.

        A move to where an earlier one may have put the module, and one to the CPU, changes nothing. With `anywhere` those
        count too whose target is not known; with `back`, one that brings the module back from the CPU counts.
        """
        trace = self.trace
        for move in trace.of(Moved):
            if (
                not move.module
                or move.index < event.index
                or move.device == AWAY
                or not (move.device or move.dtype or anywhere)
            ):
                continue
            if not self.family.related((move.module,), modules) or not trace.implies(move, event):
                continue
            again = self._again(move) and not (back and self.left(move) is not None)
            if not again and self._trained(move):
                yield move

    def left(self, move: Moved) -> Moved | None:
        """The move to the CPU after which the module comes back to a device by this one; None where it was not there."""
        if not move.device or move.device == AWAY:
            return None
        earlier = (
            each
            for each in reversed(self.trace.of(Moved))
            if each.index < move.index
            and (each.device or not each.dtype)
            and self.family.related((each.module,), (move.module,))
            and self.trace.together(each, move)
        )
        last = next(earlier, None)
        return last if last is not None and last.device == AWAY and self.trace.implies(move, last) else None

    def _again(self, move: Moved) -> bool:
        """Whether the module may be there already."""
        for earlier in self.trace.of(Moved):
            if earlier.index >= move.index or not self.family.related((earlier.module,), (move.module,)):
                continue
            if move.dtype and earlier.dtype not in ("", move.dtype):
                continue
            if not move.dtype or earlier.dtype == move.dtype or not (earlier.device or earlier.dtype):
                return True
        return False

    def _trained(self, move: Moved) -> bool:
        """Whether the module is trained after the move."""
        return any(
            backward.index > move.index and self.family.related((move.module,), backward.modules)
            for backward in self.trace.of(Backward)
        )
