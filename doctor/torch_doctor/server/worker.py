"""The process that looks at files: whatever happens in it, the server goes on and starts another."""

from __future__ import annotations

import contextlib
import gc
import multiprocessing
import os
import signal
import sys
from typing import TYPE_CHECKING

from torch_doctor.server.looking import Asked, Looked, look

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.context import SpawnProcess

    from torch_doctor.server.looking import Settings

PATIENCE = 60.0
"""Seconds after which an answer is not waited for any longer: a scan of one file ends itself long before."""


class Worker:
    """Looks at one file at a time, in a process that is started when it is needed. Ask from one thread only."""

    def __init__(self, settings: Settings, patience: float = PATIENCE) -> None:
        self._settings = settings
        self._patience = patience
        self._process: SpawnProcess | None = None
        self._connection: Connection[Asked, Looked] | None = None
        self._answered = False  # whether this process has
        self._stopped = False

    def look(self, asked: Asked) -> Looked:
        """What there is to say about a file; that the process ended over it is part of the answer.

        A process that has answered before may have ended for another reason: the next one is asked again.
        """
        answered = self._answered
        try:
            connection = self._connection or self._start()
            connection.send(asked)
            if connection.poll(self._patience):
                looked = connection.recv()
                self._answered = True
                return looked
            trouble = f"takes more than {self._patience:g} seconds"
        except (EOFError, OSError) as error:
            trouble = f"crashed the analysis process ({self._ended() or type(error).__name__})"
            if answered and not self._stopped:
                self.close()
                return self.look(asked)
        self.close()
        return Looked(str(asked.path), errors=(f"internal error: {asked.path} {trouble}; please report it",))

    def stop(self) -> None:
        """End the process at once, whatever it does; `look` answers, and may be under way in another thread."""
        self._stopped = True
        if self._process is not None:
            self._process.kill()

    def close(self) -> None:
        """End the process; the next question starts another."""
        if self._connection is not None:
            self._connection.close()
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._process.close()
        self._connection = self._process = None
        self._answered = False

    def _start(self) -> Connection[Asked, Looked]:
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=_work, args=(theirs, self._settings), daemon=True, name="torch-doctor-scan")
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


def _work(connection: Connection[Looked, Asked], settings: Settings) -> None:
    """Answer until nobody asks any more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the server's matter, which ends this process
    os.dup2(sys.stderr.fileno(), 1)  # stdout is the editor's: what is printed by mistake must not come between
    gc.disable()
    with contextlib.suppress(EOFError, OSError):
        while True:
            connection.send(look(connection.recv(), settings))
            gc.collect()  # while nobody waits
