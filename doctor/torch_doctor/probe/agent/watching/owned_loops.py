"""The loops that a trainer of a library runs: epochs and batches are passes of loops at the call that the script makes."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

    from ..loop import Loop
    from .watch import Watch

EPOCHS, BATCHES, EVALUATED = "the epochs", "the batches", "the evaluated batches"


class OwnedLoops:
    """Which loops of a library are under way, by who runs them and what they go through.

    `who` gives the one object that runs a loop for all those whose methods tell of it; `logs`: what the loops log is told.
    """

    def __init__(self, watch: Watch, who: Callable[[Any], Any], *, logs: bool = False) -> None:
        self._watch = watch
        self._who = who
        self._logs = logs
        self._under_way: dict[tuple[int, str], tuple[FrameType, Loop]] = {}

    def of(self, owner: Any, over: str) -> Loop | None:
        """The loop that an owner runs."""
        return self._under_way.get((id(self._who(owner)), over), (None, None))[1]

    def begin(self, owner: Any, over: str) -> None:
        """A loop begins at the call that the script is in; none of its passes does."""
        recorder = self._watch.recorder
        self.end(owner, over)
        frame = recorder.frame()
        if frame is not None:
            span = recorder.sites.spans[recorder.sites.of_frame(frame)]
            loop = self._watch.loops.own(frame, span, over, batches=over != EPOCHS)
            loop.logs = self._logs
            self._under_way[id(self._who(owner)), over] = frame, loop

    def end(self, owner: Any, over: str) -> None:
        """A loop is over."""
        known = self._under_way.pop((id(self._who(owner)), over), None)
        if known is not None:
            known[1].next = False
            self._watch.loops.disown(*known)

    def passing(self, original: Callable[..., Any], over: str, *, stays: bool) -> Callable[..., Any]:
        """A method that each pass begins with; `stays`: the pass lasts beyond it, until the next one."""
        of = self.of

        @functools.wraps(original)
        def passed(self: Any, *arguments: Any, **keywords: Any) -> Any:
            loop = of(self, over)
            if loop is not None:
                loop.number += 1
                loop.next = True
            try:
                return original(self, *arguments, **keywords)
            finally:
                if loop is not None:
                    loop.next = stays

        return passed

    def ending(self, original: Callable[..., Any], over: str) -> Callable[..., Any]:
        """A method that is called behind a pass, and is no part of it."""
        of = self.of

        @functools.wraps(original)
        def ended(self: Any, *arguments: Any, **keywords: Any) -> Any:
            loop = of(self, over)
            if loop is not None:
                loop.next = False
            return original(self, *arguments, **keywords)

        return ended
