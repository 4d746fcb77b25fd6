"""This process among those of a distributed run: they end their loops at the same pass, or their next exchange would hang."""

from __future__ import annotations

import os
import sys
from time import monotonic, sleep, time
from typing import TYPE_CHECKING, Any

from .channel import PLACES, moved_up

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from .loop import Loop

PATIENCE = 5.0  # seconds that the others wait for the word of the first, at a loop that it may not run at all
ONCE_BITTEN = 0.1  # and at one where it did not come before
GLANCE, LONGEST = 0.0002, 0.005  # seconds between two looks at what it said
CHUNK = 1 << 16

_read, _write = os.read, os.write  # the script may replace them


class Ranks:
    """One of `count` processes, the one with number `rank`; what all do alike is decided by the first.

    `answers` tells that other workers may call functions of this one, so that those are run here, too.
    """

    def __init__(self, plan: Mapping[str, Any], *, launched: bool) -> None:
        self.count: int = int(plan.get("processes") or 1) if launched else 1
        self.rank = int(os.environ["RANK"]) if launched else 0
        self._scratch: str = plan.get("scratch") or ""
        self._groups = 0
        self._alone: set[str] = set()
        self._said: dict[bytes, bool] = {}
        self._rest = b""
        self._word = self._opened() if self.count > 1 else -1
        self._others: list[Callable[[], None]] = []
        self.answers = False

    def _opened(self) -> int:
        """The file in which the first process says what it decided."""
        path = os.path.join(self._scratch, "decided")
        flags = os.O_CREAT | (os.O_WRONLY | os.O_APPEND if self.rank == 0 else os.O_RDONLY)
        return moved_up(os.open(path, flags, 0o600), PLACES[0])[0]

    @property
    def places(self) -> tuple[int, ...]:
        """The descriptors that have to stay open."""
        return (self._word,) if self.count > 1 else ()

    # --- workers that call each other ---

    def one_after_another(self, functions: Sequence[Callable[[], None]]) -> None:
        """Calls the first, and, where they call each other, the others when it waits for them or ends."""
        first, *self._others = functions
        first()
        if self.answers:
            self.run_others()

    def run_others(self) -> None:
        """Runs what was not run yet."""
        while self._others:
            self._others.pop(0)()

    # --- the launcher ---

    def speak_in_lines(self) -> None:
        """Writes what the script prints a line at a time: several processes share one stream."""
        if self.count > 1:
            for name, number in (("stdout", 1), ("stderr", 2)):
                stream = getattr(sys, name)
                stream.flush()
                made = open(number, "w", 1, stream.encoding, stream.errors, closefd=False)  # noqa: SIM115 - it stays open
                setattr(sys, name, made)
                setattr(sys, f"__{name}__", made)

    def time_left(self, plan: Mapping[str, Any]) -> float:
        """The seconds that are left of the plan's, of which starting took some."""
        seconds = float(plan.get("timeout") or 60.0)
        return max(1.0, seconds - (time() - plan["began"])) if self.count > 1 and plan.get("began") else seconds

    # --- meeting the others ---

    def store(self, torch: Any) -> Any:
        """What the next process group of the script meets at: a file, and no port that others could find."""
        if self.count == 1:
            return torch.distributed.HashStore()
        self._groups += 1
        return torch.distributed.FileStore(os.path.join(self._scratch, f"group-{self._groups}"), self.count)

    def agreed(self, loop: Loop, mine: bool) -> bool:  # noqa: FBT001 - what all of them decide
        """What the first process decides at this pass of a loop; `mine` where it does not come here."""
        if self.count == 1:
            return mine
        span = loop.node.span
        place = f"{span.path}:{span.row}:{span.column}"
        key = repr((place, loop.begun, loop.number)).encode("utf-8", "surrogatepass")
        if self.rank == 0:
            _write(self._word, b"%d%b\n" % (mine, key))
            return mine
        limit = monotonic() + (ONCE_BITTEN if place in self._alone else PATIENCE)
        pause = GLANCE
        while (said := self._heard(key)) is None:
            if monotonic() > limit:
                self._alone.add(place)
                return mine
            sleep(pause)
            pause = min(pause * 2, LONGEST)
        return said

    def _heard(self, key: bytes) -> bool | None:
        """What the first process said of this, if it did."""
        while key not in self._said and (data := _read(self._word, CHUNK)):
            *lines, self._rest = (self._rest + data).split(b"\n")
            self._said.update((line[1:], line[:1] == b"1") for line in lines)
        return self._said.pop(key, None)
