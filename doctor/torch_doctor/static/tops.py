"""Keeps the state in which the top levels of files ended, for what is run after them."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from msgspec import Struct

from torch_doctor.static import entry_points
from torch_doctor.static.language.unfinished import Unfinished

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.static.heap import Changes
    from torch_doctor.static.registry import Saved
    from torch_doctor.static.run import Run
    from torch_doctor.static.unit import Unit
    from torch_doctor.trace import Trace

WORTH = 50
"""Steps from which on executing a file again takes longer than keeping what it left."""
MOST = 200_000
"""Steps of all that is kept, so that memory stays flat however many files there are."""


class _Top(Struct, frozen=True):
    """A run that has come to the end of its file: what it changed, the objects it made, and what it built."""

    run: Run
    changes: Changes
    objects: Saved
    built: Trace


class Tops:
    """The runs that can be gone on with: what nobody calls is run in the state in which the top level of its file ended."""

    def __init__(self) -> None:
        self._kept: dict[Unit, _Top] = {}
        self._left: float = MOST

    def keep(self, run: Run, steps: float) -> None:
        """Keep a run of so many steps, unless the file would not come as far once more; a run that was cut off would be again."""
        cut_off = run.steps_left < 0 or run.of(Unfinished).nodes
        again = steps if cut_off else entry_points.steps_of(run.main, outside=True)
        if WORTH <= steps <= min(self._left, again):
            self._left -= steps
            run.settle()
            self._kept[run.main] = _Top(run, run.heap.changes(0), run.objects.save(), entry_points.built(run))

    def has(self, unit: Unit) -> bool:
        """Whether a run of a file was kept."""
        return unit in self._kept

    @contextmanager
    def gone_on_with(self, unit: Unit) -> Iterator[Run]:
        """The run of a file, in the state in which it ended; what is changed within is undone."""
        top = self._kept[unit]
        run = top.run
        run.trace = top.built
        run.objects.restore(top.objects)
        run.heap.apply(top.changes)
        try:
            yield run
        finally:
            run.heap.undo(0)
