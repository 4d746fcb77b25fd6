"""How much memory each part of a step takes at most, beside what was there when the step began."""

from __future__ import annotations

from typing import Any

LABEL = "torch_doctor "
"""What the parts are called among the events of torch's profiler."""


class Peaks:
    """Marks where parts begin and end; on a GPU its own count tells the peaks, on a CPU the events of a profiler."""

    def __init__(self, torch: Any) -> None:
        self._torch = torch
        self._gpu = bool(torch.cuda.is_available() and torch.cuda.is_initialized())
        self._base = torch.cuda.memory_allocated() if self._gpu else 0
        self._open: list[tuple[str, Any]] = []
        self.found: dict[str, int] = {}

    def enter(self, part: str) -> None:
        """A part begins."""
        self._look()
        label = self._torch.profiler.record_function(LABEL + part)
        label.__enter__()
        self._open.append((part, label))

    def leave(self) -> None:
        """The part that began last ends."""
        self._look()
        if self._open:
            self._open.pop()[1].__exit__(None, None, None)

    def _look(self) -> None:
        if not self._gpu:
            return
        peak = int(self._torch.cuda.max_memory_allocated()) - self._base
        for part, _ in self._open:
            self.found[part] = max(peak, self.found.get(part, 0))
        self._torch.cuda.reset_peak_memory_stats()

    def read(self, profile: Any) -> None:
        """Takes the peaks from what a profiler saw, where there is no GPU that counts."""
        if self._gpu:
            return
        events = list(profile.profiler.kineto_results.events())
        memory = sorted((_start(each), each.nbytes()) for each in events if each.name() == "[memory]")
        for each in events:
            if each.name().startswith(LABEL):
                part, end = each.name()[len(LABEL) :], _start(each) + _length(each)
                peak = _highest(memory, _start(each), end)
                self.found[part] = max(peak, self.found.get(part, 0))


def _highest(memory: list[tuple[int, int]], start: int, end: int) -> int:
    total = highest = 0
    for at, size in memory:
        if at > end:
            break
        highest = max(highest, total if at >= start else 0)
        total += size
        highest = max(highest, total if at >= start else 0)
    return highest


def _start(event: Any) -> int:
    return int(event.start_ns() if hasattr(event, "start_ns") else event.start_us())


def _length(event: Any) -> int:
    return int(event.duration_ns() if hasattr(event, "duration_ns") else event.duration_us())
