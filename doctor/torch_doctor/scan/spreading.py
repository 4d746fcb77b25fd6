"""Spreads the files of a project over processes; what comes back is the same in any number of them."""

from __future__ import annotations

import os
import signal
import sys
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import active_children, get_context, parent_process
from threading import Thread, active_count
from typing import TYPE_CHECKING

from torch_doctor.scan.examining import Context, Examined, Examiner
from torch_doctor.scan.interrupting import uninterrupted
from torch_doctor.sources.discovery import display

if TYPE_CHECKING:
    from collections.abc import Iterator
    from concurrent.futures import Future
    from multiprocessing.context import BaseContext
    from multiprocessing.process import BaseProcess
    from pathlib import Path

    from torch_doctor.scan.examining import Learn, Recall
    from torch_doctor.scan.gathering import Gathering, Turn

ATTEMPTS = 2
"""How often files are handed to a process, in case it ends before they are done."""
SHARES = 12
"""Parts into which the work of one process is cut, so that all end at about the same time."""


class Together:
    """Several processes that examine files of one project; their own are ended with it, however that ends."""

    def __init__(self, context: Context, gathering: Gathering, recall: Recall, learn: Learn, jobs: int) -> None:
        self._context = context
        self._gathering = gathering
        self._recall = recall
        self._learn = learn
        self._jobs = jobs
        self._most = max(1, len(context.given) // (jobs * SHARES))  # files that are handed over at once
        self._pool: ProcessPoolExecutor | None = None
        self._under_way: dict[Future[list[Examined]], tuple[list[Turn], int]] = {}

    def results(self) -> Iterator[tuple[Path, Examined]]:
        """What is found out about the files, in the order in which they are done."""
        try:
            while True:
                yield from self._hand_over()
                if not self._under_way:
                    return
                done, _ = wait(self._under_way, return_when=FIRST_COMPLETED)
                for future in done:
                    turns, attempt = self._under_way.pop(future)
                    found = self._outcome(future, turns, attempt)
                    for turn, each in zip(turns, found or (), strict=False):
                        self._learn(turn, each)
                    yield from self._taken(turns, found)
        finally:
            self._close()

    def _hand_over(self) -> Iterator[tuple[Path, Examined]]:
        """Keep all processes busy; what is known already needs none."""
        while len(self._under_way) < self._jobs + 1:
            turns: list[Turn] = []
            while len(turns) < self._most and (turn := self._gathering.ready()) is not None:
                known = self._recall(turn)
                if known is None:
                    turns.append(turn)
                else:
                    yield from self._taken([turn], [known])
            if not turns:
                return
            self._submit(turns, 1)

    def _submit(self, turns: list[Turn], attempt: int) -> None:
        with uninterrupted():
            if self._pool is None:
                self._pool = ProcessPoolExecutor(self._jobs, processes(), _begin, (self._context,))
            self._under_way[self._pool.submit(_examine, turns)] = turns, attempt

    def _outcome(self, future: Future[list[Examined]], turns: list[Turn], attempt: int) -> list[Examined] | None:
        """What a process found out; None where it ended before, and another one tries again."""
        try:
            return future.result()
        except BrokenProcessPool:
            self._pool = None
        if attempt < ATTEMPTS:
            self._submit(turns, attempt + 1)
        elif len(turns) > 1:  # one of them is the reason
            for turn in turns:
                self._submit([turn], 1)
        else:
            return [_lost(self._context, turns[0])]
        return None

    def _taken(self, turns: list[Turn], found: list[Examined] | None) -> Iterator[tuple[Path, Examined]]:
        for turn, each in zip(turns, found or (), strict=False):
            self._gathering.take(turn.path, each.followed)
            yield turn.path, each

    def _close(self) -> None:
        """End the processes; those that are still at something were interrupted, and nobody waits for what they find."""
        if self._pool is None:
            return
        with uninterrupted():
            for process in active_children() if self._under_way else ():
                process.kill()  # it has nothing to put away
            self._pool.shutdown(cancel_futures=True)


def _lost(context: Context, turn: Turn) -> Examined:
    """What is said of a file that ends the process that examines it, as it takes all memory, say."""
    found = Examined()
    name = context.options.names.get(turn.path) or display(turn.path)
    found.errors.append(f"internal error while scanning {name}: the process ended unexpectedly; please report it")
    return found


# --- within such a process ---

_EXAMINER: list[Examiner] = []


def _begin(context: Context) -> None:
    """Prepare a process: Ctrl-C concerns the one that handed over the files, and without that one nobody needs this."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_leave_with, args=(parent_process(),), name="torch-doctor parent", daemon=True).start()
    _EXAMINER[:] = [Examiner(context)]


def _leave_with(parent: BaseProcess | None) -> None:
    """End when the parent has ended."""
    if parent is not None:
        parent.join()
        os._exit(1)


def _examine(turns: list[Turn]) -> list[Examined]:
    return [_EXAMINER[0].file(turn.path, turn.before) for turn in turns]


def processes() -> BaseContext:
    """How processes are started: by a fork where that is quick and nothing else runs that it could tear apart."""
    alone = sys.platform == "linux" and active_count() == 1
    return get_context("fork" if alone else "spawn")
