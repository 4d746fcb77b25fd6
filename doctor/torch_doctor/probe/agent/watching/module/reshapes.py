"""Reshapes that the script asks for: the sizes that go in, and those that come out."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import CodeType

    from ..watch import Watch

MOST = 2  # reshapes of one place that are told: the first batch, and the next
PLACES = 500


class Watcher:
    """Wraps `view` and `reshape`; tells of those in the user's files that change the number or the order of sizes."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._recorder = watch.recorder
        self._seen: dict[tuple[CodeType, int], int] = {}

    def install(self) -> None:
        """Puts the wrappers in place."""
        torch = self._watch.torch
        for owner, name in ((torch.Tensor, "view"), (torch.Tensor, "reshape"), (torch, "reshape")):
            self._watch.patches.replace(owner, name, self._wrapping)

    def _wrapping(self, original: Any) -> Any:
        recorder, seen, note = self._recorder, self._seen, self._note
        frame_at = sys._getframe

        def reshape(*arguments: Any, **keywords: Any) -> Any:
            result = original(*arguments, **keywords)
            if not recorder.quiet:
                frame = frame_at(1)
                place = (frame.f_code, frame.f_lasti)
                if seen.get(place, 0) < MOST:
                    given = arguments[0] if arguments else keywords["input"]
                    recorder.safely(note, original.__name__, given, result, frame, place)
            return result

        return reshape

    def _note(self, name: str, given: Any, result: Any, frame: Any, place: tuple[CodeType, int]) -> None:
        recorder = self._recorder
        if len(self._seen) >= PLACES or not recorder.sites.is_users(frame.f_code.co_filename):
            self._seen[place] = MOST  # not worth a second look
            return
        self._seen[place] = self._seen.get(place, 0) + 1
        before, after = list(given.shape), list(result.shape)
        if before != after:
            recorder.event(
                "Reshaped",
                recorder.here(),
                site=recorder.sites.of_frame(frame),
                name=name,
                before=before,
                after=after,
            )
