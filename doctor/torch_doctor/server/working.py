"""What the process does that looks at files: it answers one question after the other, and leaves one that is abandoned."""

from __future__ import annotations

import _thread
import gc
import os
import queue
import signal
import sys
import threading
from typing import TYPE_CHECKING

from torch_doctor.server.looking import answers

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from types import FrameType

    from torch_doctor.server.looking import Asked, Looked, Settings

AGAIN = 0.02
"""Seconds after which a scan is told again to end: it goes on where it imports a module."""
IMPORTING = "<frozen importlib"


class _Abandoned(BaseException):
    """Nobody waits for the answer any more."""


class _Questions:
    """The questions in their order. A thread receives them; it interrupts the main one if its question is abandoned."""

    def __init__(self, connection: Connection[Looked | None, Asked | None]) -> None:
        self._connection = connection
        self._waiting: queue.SimpleQueue[Asked | None] = queue.SimpleQueue()
        self._received = self._taken = self._abandoned = 0
        self._ends = False  # whether what the main thread does may be ended

    def start(self) -> None:
        """Begin to receive."""
        signal.signal(signal.SIGINT, self._interrupt)  # Ctrl-C is the server's matter, which ends this process
        threading.Thread(target=self._receive, name="torch-doctor questions", daemon=True).start()

    def next(self) -> Asked | None:
        """Wait for the next question; None: nobody asks any more."""
        asked = self._waiting.get()
        self._taken += 1
        return asked

    @property
    def idle(self) -> bool:
        """Whether nobody waits for an answer."""
        return self._waiting.empty()

    def __enter__(self) -> None:
        """What follows is ended if the question is abandoned.

        Raises:
            _Abandoned: it was.
        """
        self._ends = True
        if self._is_abandoned():
            raise _Abandoned

    def __exit__(self, *_: object) -> None:
        self._ends = False

    def _is_abandoned(self) -> bool:
        return self._taken <= self._abandoned

    def _receive(self) -> None:
        try:
            while True:
                if self._ends and self._is_abandoned():
                    _thread.interrupt_main()
                    if not self._connection.poll(AGAIN):
                        continue
                asked = self._connection.recv()
                if asked is None:
                    self._abandoned = self._received
                else:
                    self._received += 1
                    self._waiting.put(asked)
        except (EOFError, OSError):
            self._abandoned = self._received
            self._waiting.put(None)
            _thread.interrupt_main()

    def _interrupt(self, _: int, frame: FrameType | None) -> None:
        if not self._ends or not self._is_abandoned():
            return
        while frame is not None:
            if frame.f_code.co_filename.startswith(IMPORTING):  # half a module would be left
                return
            frame = frame.f_back
        self._ends = False
        raise _Abandoned


def work(connection: Connection[Looked | None, Asked | None], settings: Settings) -> None:
    """Answer until nobody asks any more; None is the answer to what was abandoned."""
    os.dup2(sys.stderr.fileno(), 1)  # stdout is the editor's: what is printed by mistake must not come between
    gc.disable()
    questions = _Questions(connection)
    questions.start()
    while (asked := questions.next()) is not None:
        given = answers(asked, settings)
        looked: Looked | None
        while True:
            try:
                with questions:
                    looked = next(given)
            except _Abandoned:
                looked = None
            try:
                connection.send(looked)
            except OSError:
                return
            if looked is None or looked.settled:
                break
        if questions.idle:
            gc.collect()
