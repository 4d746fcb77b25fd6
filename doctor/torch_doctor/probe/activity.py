"""What a run is doing, in a few words, from the lines that the agent writes while it runs."""

from __future__ import annotations

import contextlib
import json
from dataclasses import dataclass
from typing import Any

LONGEST = 40  # characters of the source that are shown
STARTING = "starting"


@dataclass(frozen=True, slots=True)
class _Scope:
    parent: int | None
    loop: int
    number: int
    batches: bool


class Activity:
    """Follows the lines of one run; `words` says what it is at."""

    def __init__(self) -> None:
        self._doing = STARTING
        self._evaluates = False
        self._over: dict[int, str] = {}
        self._scopes: dict[int, _Scope] = {}
        self._rest = b""

    @property
    def words(self) -> str:
        """What the run is at."""
        return self._doing

    def hear(self, data: bytes) -> None:
        """Takes some more of what the agent writes."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            with contextlib.suppress(ValueError, KeyError, TypeError, AttributeError):  # the trace's reader counts them
                self._take(json.loads(line))

    def _take(self, record: dict[str, Any]) -> None:
        kind = record["t"]
        if kind == "doing":
            self._doing = str(record["what"])
        elif kind == "hello":
            self._doing = "running"
        elif kind == "scope" and record["kind"] == "iteration":
            batches = record["loop_kind"] == "batches"
            self._scopes[record["id"]] = _Scope(record["parent"], record["loop"], record["number"], batches)
        elif kind == "scope":
            self._scopes[record["id"]] = _Scope(record["parent"], 0, 0, batches=False)
        elif kind == "event":
            self._hear_event(record)

    def _hear_event(self, record: dict[str, Any]) -> None:
        event = record["e"]
        if event == "LoopEntered":
            self._over[record["loop"]] = _shortened(str(record["over"]))
        elif event == "Saved":
            self._doing = f"saving `{_shortened(str(record['what']))}`"
            return
        elif event == "Forward":
            self._evaluates = not record["training"] and not record["grad"]
        elif event == "Backward":
            self._evaluates = False
        place = self._place(record.get("in"))
        if place or self._evaluates:
            self._doing = ", ".join(filter(None, ("evaluating" if self._evaluates else "", place)))

    def _place(self, number: int | None) -> str:
        """The passes of loops that a scope lies in: of the innermost loop, and of the one around it."""
        passes: list[_Scope] = []
        while number is not None and (scope := self._scopes.get(number)) is not None:
            if scope.loop:
                passes.append(scope)
            number = scope.parent
        if not passes:
            return ""
        inner, *around = passes
        over = self._over.get(inner.loop, "")
        said = f"{'batch' if inner.batches else 'iteration'} {inner.number}{f' of `{over}`' if over else ''}"
        return f"epoch {around[-1].number}, {said}" if around else said


def _shortened(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
