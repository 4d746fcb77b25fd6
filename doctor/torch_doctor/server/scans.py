"""Scans of open documents, one at a time, and what they found: a text that has changed is scanned no longer."""

from __future__ import annotations

import asyncio
import itertools
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from torch_doctor.server.looking import Asked, Looked
from torch_doctor.server.worker import Worker

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from torch_doctor.server.documents import Document
    from torch_doctor.server.looking import Settings


class Known(Struct, frozen=True):
    """What was found in a document, and when that was begun."""

    document: Document
    looked: Looked
    begun: int


class Scan:
    """A scan of one text of a document.

    `first` is done with its first answer, `last` with the one that says what would mend or silence the findings, or both
    where it was abandoned. `begun` is when it was begun, if it was.
    """

    def __init__(self, document: Document, folder: Path) -> None:
        self.document = document
        self.asked = Asked(document.path, document.raw, folder, mends=True)
        self.begun: int | None = None
        self.overtaken = False
        loop = asyncio.get_running_loop()
        self.first: asyncio.Future[None] = loop.create_future()
        self.last: asyncio.Future[None] = loop.create_future()

    def done(self, *, settled: bool, error: Exception | None = None) -> None:
        """Let those know who wait."""
        for future in (self.first, self.last) if settled else (self.first,):
            if future.done():
                continue
            if error is None:
                future.set_result(None)
            else:
                future.set_exception(error)
                future.exception()  # it is not reported again where nobody waits


class Scans:
    """The scans that were asked for, and the newest results, by the document.

    `known` are the newest answers, `settled` the newest that say what would mend or silence the findings. `heard` is
    called with each answer. All but the scans themselves happens in the thread of the event loop.
    """

    def __init__(self, settings: Settings, heard: Callable[[Known], object]) -> None:
        self.known: dict[str, Known] = {}
        self.settled: dict[str, Known] = {}
        self.ticks = itertools.count()
        self._heard = heard
        self._worker = Worker(settings)
        self._thread = ThreadPoolExecutor(1)
        self._turn = asyncio.Lock()
        self._scans: dict[str, Scan] = {}
        self._current: Scan | None = None
        self._shapes: dict[str, tuple[Document, Looked]] = {}
        self._shaping: Asked | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    def of(self, uri: str) -> Scan | None:
        """The scan of a document that waits or is under way."""
        return self._scans.get(uri)

    def begin(self, document: Document, folder: Path) -> Scan:
        """Scan a document, and no longer an older text of it.

        Another document whose findings are known already waits with what would mend them.
        """
        self.abandon(document.uri)
        if self._shaping is not None:
            self._worker.abandon(self._shaping)
        if self._current is not None and self._current.first.done():
            self._worker.abandon(self._current.asked)
        scan = self._scans[document.uri] = Scan(document, folder)
        task = asyncio.get_running_loop().create_task(self._look(scan))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return scan

    def abandon(self, uri: str) -> None:
        """End the scan of a document; those who wait for it ask for another."""
        scan = self._scans.pop(uri, None)
        if scan is not None:
            scan.overtaken = True
            if scan is self._current:
                self._worker.abandon(scan.asked)

    def forget(self, uri: str) -> None:
        """The document is closed."""
        self.abandon(uri)
        self.known.pop(uri, None)
        self.settled.pop(uri, None)
        self._shapes.pop(uri, None)

    def end(self) -> None:
        """End what was started."""
        self._worker.stop()
        self._thread.shutdown(cancel_futures=True)
        self._worker.close()

    async def shapes(self, document: Document, folder: Path) -> Looked | None:
        """The shapes of the variables of a document; None where a scan had to be done first."""
        async with self._turn:
            known = self._shapes.get(document.uri)
            if known is not None and known[0] == document:
                return known[1]
            self._shaping = Asked(document.path, document.raw, folder, shapes=True)
            loop = asyncio.get_running_loop()
            try:
                looked = await loop.run_in_executor(self._thread, self._worker.look, self._shaping)
            finally:
                self._shaping = None
        if looked is not None:
            self._shapes[document.uri] = document, looked
        return looked

    async def _look(self, scan: Scan) -> None:
        looked, error = None, None
        try:
            while looked is None and not scan.overtaken:
                async with self._turn:  # in the order in which it is asked for
                    looked = await self._answered(scan)
        except Exception as raised:  # noqa: BLE001 - those who wait hear of it
            error = raised
        if looked is not None:
            self._hear(scan, looked)
        scan.done(settled=True, error=error)
        if self._scans.get(scan.document.uri) is scan:
            del self._scans[scan.document.uri]

    async def _answered(self, scan: Scan) -> Looked | None:
        """What was found in the end; None where the scan was abandoned."""
        if scan.overtaken:
            return None
        loop = asyncio.get_running_loop()

        def hear(looked: Looked) -> None:
            loop.call_soon_threadsafe(self._hear, scan, looked)

        scan.asked = replace(scan.asked)  # a question of its own, where an earlier one was abandoned
        scan.begun = next(self.ticks)
        self._current = scan
        try:
            return await loop.run_in_executor(self._thread, self._worker.look, scan.asked, hear)
        finally:
            self._current = None

    def _hear(self, scan: Scan, looked: Looked) -> None:
        """Take in what was found, unless the text has changed meanwhile."""
        if scan.overtaken or scan.begun is None:
            return
        known = Known(scan.document, looked, scan.begun)
        self.known[scan.document.uri] = known
        if looked.settled:
            self.settled[scan.document.uri] = known
        self._heard(known)
        scan.done(settled=looked.settled)
