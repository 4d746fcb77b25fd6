"""The process that looks at files: whatever happens in it, the server goes on and starts another."""

from __future__ import annotations

import multiprocessing
import threading
import time
from typing import TYPE_CHECKING

from msgspec.structs import replace

from torch_doctor.server.looking import Looked
from torch_doctor.server.working import work

if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.connection import Connection
    from multiprocessing.context import SpawnProcess

    from torch_doctor.server.looking import Asked, Settings

PATIENCE = 60.0
"""Seconds after which an answer is not waited for any longer: a scan of one file ends itself long before."""
GRACE = 2.0
"""Seconds that an abandoned scan may take to end; then its process is ended, and with it what it has read so far."""
TICK = 0.1


class Worker:
    """Looks at one file at a time, in a process that is started when it is needed. Ask from one thread only."""

    def __init__(self, settings: Settings, patience: float = PATIENCE) -> None:
        self._settings = settings
        self._patience = patience
        self._process: SpawnProcess | None = None
        self._connection: Connection[Asked | None, Looked | None] | None = None
        self._answered = False  # whether this process has
        self._stopped = False
        self._lock = threading.Lock()  # held while something is sent
        self._current: Asked | None = None
        self._abandoned: Asked | None = None
        self._until = 0.0  # when an answer is not waited for any longer

    def look(self, asked: Asked, hear: Callable[[Looked], object] = lambda _: None) -> Looked | None:
        """What there is to say about a file; that the process ended over it is part of the answer.

        `hear` gets the answers that are not settled yet. None: it was abandoned. A process that has answered before may
        have ended for another reason: the next one is asked again.
        """
        answered, found = self._answered, Looked(str(asked.path))
        try:
            connection = self._connection or self._start()
            self._until = time.monotonic() + self._patience
            if not self._send(connection, asked):
                return None
            while self._waited(connection):
                looked = connection.recv()
                self._answered = True
                if looked is None or looked.settled:
                    return looked
                found = looked
                hear(found)
            trouble = f"takes more than {self._patience:g} seconds"
        except (EOFError, OSError) as error:
            trouble = f"crashed the analysis process ({self._ended() or type(error).__name__})"
            if answered and not self._stopped:
                self.close()
                return self.look(asked, hear)
        finally:
            with self._lock:
                self._current = None
        self.close()
        if self._abandoned is asked:
            return None
        line = f"internal error: {asked.path} {trouble}; please report it"
        return replace(found, errors=(*found.errors, line), settled=True)

    def abandon(self, asked: Asked) -> None:
        """Look no longer at a file that is being looked at, or will be, by another thread: it gets None."""
        with self._lock:
            self._abandoned = asked
            if self._current is asked and self._connection is not None:
                self._until = min(self._until, time.monotonic() + GRACE)
                try:
                    self._connection.send(None)
                except OSError:  # the process has ended, which the other thread hears, too
                    return

    def stop(self) -> None:
        """End the process at once, whatever it does; `look` answers, and may be under way in another thread."""
        self._stopped = True
        if self._process is not None:
            self._process.kill()

    def close(self) -> None:
        """End the process; the next question starts another."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
            self._connection = None
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._process.close()
        self._process = None
        self._answered = False

    def _send(self, connection: Connection[Asked | None, Looked | None], asked: Asked) -> bool:
        """Ask, unless it was abandoned before."""
        with self._lock:
            if self._abandoned is asked:
                return False
            self._current = asked
            connection.send(asked)
            return True

    def _waited(self, connection: Connection[Asked | None, Looked | None]) -> bool:
        """Wait for an answer; whether there is one."""
        while (rest := self._until - time.monotonic()) > 0:  # which may end earlier while we wait
            if connection.poll(min(rest, TICK)):
                return True
        return False

    def _start(self) -> Connection[Asked | None, Looked | None]:
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=work, args=(theirs, self._settings), daemon=True, name="torch-doctor-scan")
        process.start()
        theirs.close()  # so that we hear of it when the process ends
        self._process, self._connection = process, ours
        return ours

    def _ended(self) -> str:
        if self._process is None:
            return ""
        self._process.join(1)
        code = self._process.exitcode
        return "" if code is None else f"exit status {code}"
