"""Sums of plain numbers that grow pass by pass through a loop: what they hold when the loop begins anew."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ... import claims, hooks

if TYPE_CHECKING:
    from ..watch import Watch

MOST = 8  # runs of a loop of which one place tells
NEAR = 1e-6  # numbers that were added up and taken apart again differ by as much
NUMBERS = (int, float)


class Watcher:
    """Is told of every `x += number`, and writes the first one in each run of the loop around it."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._loops = watch.loops
        self._recorder = watch.recorder
        self._added: dict[int, float] = {}
        self._last: dict[int, float] = {}  # what each sum was after its last addition
        self._runs: dict[int, int] = {}  # how many loops had begun then
        self._within: dict[int, Any] = {}  # the loop around
        self._told: dict[int, list[int]] = {}

    def install(self) -> None:
        """Puts what instrumented code calls in place; the watcher of kept values tells of what may be no number."""
        hooks.put("adds", self._adds)

    def _adds(self, key: int, value: Any, holder: Any) -> Any:
        """A number is about to be added to `holder`, or to the attribute of it that the place names."""
        name = self._recorder.index.nodes[key].name
        before: Any = getattr(holder, "__dict__", {}).get(name) if name else holder
        if type(before) in NUMBERS and type(value) in NUMBERS:
            self._note(key, before, value)
        return value

    def adding(self, key: int, value: float) -> None:
        """A number is about to be added at a place, perhaps."""
        self._added[key] = value

    def added(self, key: int, holder: Any, now: Any) -> None:
        """It was added: `now` is the sum, or it is an attribute of the holder, or an item of it that nobody knows."""
        value = self._added.pop(key, None)
        node = self._recorder.index.nodes[key]
        if node.name and holder is not None:
            now = getattr(holder, "__dict__", {}).get(node.name)
        if value is not None and node.how == "accumulated" and type(now) in NUMBERS:
            self._note(key, now - value, value)

    def _note(self, key: int, before: float, value: float) -> None:
        if self._runs.get(key) != self._loops.runs and not self._recorder.quiet and not self._recorder.rests():
            self._runs[key] = self._loops.runs
            self._recorder.safely(self._began, key, before)
        self._last[key] = before + value

    def _began(self, key: int, before: float) -> None:
        """Loops have begun since the last addition here, perhaps that around it: `before` is what the sum was till now."""
        recorder = self._recorder
        here = recorder.here()
        around, told = here.loops[-1] if here.loops else None, self._told.setdefault(key, [])
        if here.frame is None or around is None or around is self._within.get(key) or len(told) >= MOST:
            return
        self._within[key] = around
        last = self._last.get(key, 0.0)
        if told and not last:
            return  # a sum of zeros does not show whether it begins anew
        kept = bool(told) and abs(before - last) <= NEAR * max(1.0, abs(last))
        number = recorder.scopes.events
        site = recorder.index.site(key)
        holder = recorder.index.nodes[key].text
        recorder.event("Summed", here, site=site, holder=holder, started=None, carries=told[-1:] if kept else [])
        told.append(number)
        if kept:
            recorder.measured(claims.SUM_KEPT, before, "", site=site, about=[number])
