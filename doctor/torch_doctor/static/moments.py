"""A moment of a run from which it goes on more than once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.trace import Trace

if TYPE_CHECKING:
    from torch_doctor.static.run import Run


class Moment:
    """What a run had come to, `steps` after its beginning: an object that was made for each of its methods, say."""

    def __init__(self, run: Run, began_with: float) -> None:
        self._run = run
        self._mark = run.heap.mark()
        self._objects = run.objects.save()
        self._known = run.known()
        self._brought = {path: list(numbers) for path, numbers in run.brought.items()}
        self._position = run.position.moved()
        self._dead_end = run.dead_end
        self._trace = Trace(run.trace.path)
        self._trace.begin_as(run.trace)
        self.steps = began_with - run.steps_left

    def go_on(self, trace: Trace, steps: float) -> Trace:
        """Go on from there with so many steps; the trace begins with what had happened by then."""
        run = self._run
        run.heap.undo(self._mark)
        run.objects.restore(self._objects)
        run.know(self._known)
        run.brought = {path: list(numbers) for path, numbers in self._brought.items()}
        run.position = self._position.moved()
        run.dead_end = self._dead_end
        run.steps_left = steps
        run.trace = trace
        trace.begin_as(self._trace)
        return trace
