"""Sums that grow pass by pass through a loop: what they hold when the loop begins anew."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from ... import claims, hooks

if TYPE_CHECKING:
    from ..watch import Watch

MOST = 8  # runs of a loop of which one place tells
NEAR = 1e-6  # numbers that were added up and taken apart again differ by as much
LARGE = 1 << 16  # elements of a tensor that is no table of results
NUMBERS = (int, float)
Sum: TypeAlias = "tuple[int, int]"
"""A place that adds, and the `id` of the object whose attribute it adds to; 0 where it adds to a name."""


class Watcher:
    """Is told of every `x += number`, and writes the first one in each run of the loop around it."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._loops = watch.loops
        self._recorder = watch.recorder
        self._added: dict[int, Any] = {}
        self._last: dict[Sum, Any] = {}  # what each sum was after its last addition
        self._runs: dict[Sum, int] = {}  # how many loops had begun then
        self._within: dict[Sum, Any] = {}  # the loop around
        self._told: dict[Sum, list[int]] = {}

    def install(self) -> None:
        """Puts what instrumented code calls in place; the watcher of kept values tells of what may be no number."""
        hooks.put("adds", self._adds)

    def _adds(self, key: int, value: Any, holder: Any) -> Any:
        """A number is about to be added to `holder`, or to the attribute of it that the place names."""
        name = self._recorder.index.nodes[key].name
        before: Any = getattr(holder, "__dict__", {}).get(name) if name else holder
        if type(before) in NUMBERS and type(value) in NUMBERS:
            self._note((key, id(holder) if name else 0), before, before + value)
        return value

    def adding(self, key: int, value: Any) -> None:
        """A number or a tensor without a graph is about to be added at a place, perhaps."""
        self._added[key] = value

    def added(self, key: int, holder: Any, now: Any) -> None:
        """It was added: `now` is the sum, or it is an attribute of the holder, or an item of it that nobody knows."""
        value = self._added.pop(key, None)
        node = self._recorder.index.nodes[key]
        named = bool(node.name) and holder is not None
        if named:
            now = getattr(holder, "__dict__", {}).get(node.name)
        if value is None or node.how != "accumulated":
            return
        of = (key, id(holder) if named else 0)
        if type(now) in NUMBERS and type(value) in NUMBERS:
            self._note(of, now - value, now)
        elif isinstance(now, self._watch.torch.Tensor) and self._is_result(now):
            self._note(of, value, now)

    def _is_result(self, now: Any) -> bool:
        """Whether a tensor may hold results: parameters are updated by sums as well, their averages by others."""
        trained = now.requires_grad or isinstance(now, self._watch.torch.nn.Parameter)
        return not trained and now.numel() <= LARGE

    def _note(self, of: Sum, before: Any, now: Any) -> None:
        """A sum is `now`. It was `before`; for a tensor, that is what was added to it."""
        if self._runs.get(of) != self._loops.runs and not self._recorder.quiet and not self._recorder.rests():
            self._runs[of] = self._loops.runs
            self._recorder.safely(self._began, of, before, now)
        self._last[of] = now

    def _began(self, of: Sum, before: Any, now: Any) -> None:
        """Loops have begun since the last addition here, perhaps that around it."""
        recorder = self._recorder
        here = recorder.here()
        around, told = here.loops[-1] if here.loops else None, self._told.setdefault(of, [])
        if here.frame is None or around is None or around is self._within.get(of) or len(told) >= MOST:
            return
        self._within[of] = around
        last = self._last.get(of, 0.0)
        if type(now) not in NUMBERS:
            before, last = self._in_tensors(before, now, last)
        if told and not last:
            return  # a sum of zeros does not show whether it begins anew
        kept = bool(told) and abs(before - last) <= NEAR * max(1.0, abs(last))
        number = recorder.scopes.events
        site = recorder.index.site(of[0])
        holder = recorder.index.nodes[of[0]].text
        recorder.event("Summed", here, site=site, holder=holder, started=None, carries=told[-1:] if kept else [])
        told.append(number)
        if kept:
            recorder.measured(claims.SUM_KEPT, before, "", site=site, about=[number])

    def _in_tensors(self, added: Any, now: Any, last: Any) -> tuple[float, float]:
        """What a tensor summed up to before, and after its last addition.

        Where it changed in place, that was the same tensor: then both are what it is now, less what was added.
        """
        total = float(now.detach().double().sum())
        part = added.detach().double() if isinstance(added, self._watch.torch.Tensor) else added
        part = part * self._watch.torch.ones_like(now, dtype=self._watch.torch.float64)
        before = total - float(part.sum())
        if last is now or not isinstance(last, self._watch.torch.Tensor):
            return before, before if last is now else 0.0
        return before, float(last.detach().double().sum())
