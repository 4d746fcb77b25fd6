"""Runs what comes next in a copy of the process, to learn how the script uses what it is given; this process waits."""

from __future__ import annotations

import json
import os
import select
import signal
import sys
from time import monotonic
from typing import TYPE_CHECKING, Any, NoReturn

from .guard import real

if TYPE_CHECKING:
    from collections.abc import Callable

SECONDS = 30.0  # how long a rehearsal may take
PART = 0.3  # of the time of a run, in which nothing need be found
POSSIBLE = hasattr(os, "fork")
CHANGES = frozenset(
    (
        "os.mkdir",
        "os.rename",
        "os.remove",
        "os.rmdir",
        "os.truncate",
        "os.link",
        "os.symlink",
        "subprocess.Popen",
        "socket.connect",
    )
)
"""What a rehearsal that looks on does not do to files and others, but for writing."""


class Rehearsals:
    """The rehearsals of one run.

    `begun` is called in the process that rehearses, `learnt` gives what it has found out so far (None: nothing). `left` are
    the seconds that those may take in all which find nothing: what the script teaches by failing needs time, too.
    """

    def __init__(self) -> None:
        self._out = -1
        self.left = SECONDS
        self.learnt: Callable[[], Any] = lambda: None
        self.begun: Callable[[], None] = lambda: None

    @property
    def under_way(self) -> bool:
        """Whether this process is the one that rehearses."""
        return self._out >= 0

    def begin(self, prepare: Callable[[], None], seconds: float = SECONDS) -> Any:
        """Forks; returns what the rehearsal has learnt (None: nothing), and in the rehearsal itself `self`.

        The rehearsal goes on from here as the script would, after `prepare()`, until `end` is called in it, or `seconds` are over.
        """
        if not POSSIBLE or self.under_way:
            return None
        reading, writing = os.pipe()
        child = real.call("fork")
        if child == 0:
            self._out = writing
            self._leave_others_alone()
            self.begun()
            prepare()
            return self
        os.close(writing)
        try:
            return self._heard(reading, seconds)
        finally:
            os.close(reading)
            real.call("kill", child, signal.SIGKILL)
            os.waitpid(child, 0)

    def find(self, prepare: Callable[[], None]) -> Any:
        """The same, where it is to be found what the script wants: within the time that is left for this."""
        began = monotonic()
        learnt = self.begin(prepare, min(SECONDS, self.left)) if self.left > 0 else None
        if learnt is None:
            self.left -= monotonic() - began
        return learnt

    def broke_off(self, error: BaseException | None) -> NoReturn:
        """Ends the rehearsal with the script, which failed with this error or came to its end."""
        learnt = self.learnt()
        failed = None if error is None else {"failed": f"{type(error).__name__}: {error}"}
        self.end(learnt or failed or {})

    def end(self, learnt: Any) -> NoReturn:
        """Tells what was learnt, and ends the rehearsal."""
        data = json.dumps(learnt).encode()
        while data:
            data = data[os.write(self._out, data) :]
        real.functions["_exit"](0)
        raise SystemExit

    def _leave_others_alone(self) -> None:
        """Nobody hears what the rehearsal prints."""
        null = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(null, descriptor)

    def _heard(self, reading: int, seconds: float) -> Any:
        until, data = monotonic() + seconds, b""
        while (left := until - monotonic()) > 0:
            if not select.select([reading], [], [], left)[0]:
                break
            part = os.read(reading, 65_536)
            if not part:
                return json.loads(data) if data else None
            data += part
        return None


def end_with_changes(end: Callable[[], None]) -> None:
    """Call `end` at the first change of a file, in a process that rehearses: both processes see the same files."""

    def heard(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            path, mode, flags = arguments
            changes = set(mode or "") & set("wax+") or (flags or 0) & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
            if changes and path != os.devnull:
                end()
        elif event in CHANGES:
            end()

    sys.addaudithook(heard)


rehearsals = Rehearsals()
"""Those of this process, which runs one script."""
