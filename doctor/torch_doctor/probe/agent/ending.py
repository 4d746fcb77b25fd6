"""How a script ended: its status, its exception, and where in the user's code."""

from __future__ import annotations

import contextlib
import linecache
import sys
import traceback
from time import time
from typing import TYPE_CHECKING, Any

from .caps import StopProbe
from .faults import is_ours
from .interfaces import mismatch
from .rehearsal import rehearsals

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from .recorder import Recorder

STOPPED = 75
"""The run was ended by the probe, not by the script (https://docs.python.org/3/library/os.html#os.EX_TEMPFAIL)."""


class Ending:
    """Runs something to its end, whatever that is, and writes the last line."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self.before: list[Callable[[BaseException | None], None]] = []
        self.describe: Callable[[BaseException, TracebackType | None], dict[str, Any]] = lambda *_: {}

    def of(self, run: Callable[[], None]) -> int:
        """The exit status of `run`, as Python would give it."""
        try:
            return self._of(run)
        except StopProbe:  # its time was over just as it came to its end
            return self._end("stopped", STOPPED)

    def _of(self, run: Callable[[], None]) -> int:
        try:
            run()
        except StopProbe:
            return self._end("stopped", STOPPED)
        except SystemExit as exit_:
            how = "asked" if type(exit_).__name__ == "Asked" else "exit"
            return self._end(how, _status(exit_.code), shown=_of_the_script(exit_.__traceback__, self._recorder))
        except BaseException as error:  # noqa: BLE001 - whatever a script raises
            if self._recorder.caps.stopping:
                return self._end("stopped", STOPPED)
            ours = isinstance(error, Exception) and self._recorder.safely(is_ours, error, self._recorder.sites)
            if ours:
                self._recorder.failed(error)
            shown = _of_the_script(error.__traceback__, self._recorder)
            _show(error, shown)
            return self._end(
                "fault" if ours else "exception", 130 if isinstance(error, KeyboardInterrupt) else 1, error, shown
            )
        return self._end("end", 0)

    def _end(
        self, how: str, status: int, error: BaseException | None = None, shown: TracebackType | None = None
    ) -> int:
        recorder = self._recorder
        if rehearsals.under_way:
            rehearsals.broke_off(error)
        recorder.channel.write(t="doing", what="inspecting the final state")
        recorder.channel.flush()
        for watcher in self.before + recorder.at_end:
            recorder.safely(watcher, error)
        recorder.scopes.end()
        line: dict[str, Any] = {"t": "ended", "how": how, "status": status, "time": time()}
        if shown is not None:
            line["traceback"] = [
                [frame.filename, frame.lineno, frame.name, (frame.line or "").strip()]
                for frame in traceback.extract_tb(shown)
                if recorder.sites.is_users(frame.filename)
            ]
        if error is not None:
            line.setdefault("traceback", [])
            line["exception"] = "".join(traceback.format_exception_only(type(error), error)).strip()
            if how == "exception":
                self._explain(error, line)
            with contextlib.suppress(Exception):  # whatever the script's objects do when they are looked at
                line["values"] = self.describe(error, shown)
        recorder.channel.write(**line)
        recorder.over = True
        recorder.channel.flush()
        return status

    def _explain(self, error: BaseException, line: dict[str, Any]) -> None:
        """Adds what the interface expects that the error is about, and the function of the script that has it."""
        recorder = self._recorder
        found = mismatch(error, lambda path: recorder.index.trees().get(path), recorder.sites.is_users)
        if found is None:
            return
        line["interface"] = found.text
        if found.called is not None:
            path, row = found.called.co_filename, found.called.co_firstlineno
            line["traceback"].append([path, row, found.called.co_name, linecache.getline(path, row).strip()])


def _status(code: Any) -> int:
    if code is None:
        return 0
    if isinstance(code, int):
        return code & 0xFF
    with contextlib.suppress(BaseException):  # the script may have replaced all of it
        print(code, file=sys.stderr)  # noqa: T201 - as Python does
    return 1


def _of_the_script(trace: TracebackType | None, recorder: Recorder) -> TracebackType | None:
    """The part of a traceback that begins in the user's code."""
    while trace is not None and not recorder.sites.is_users(trace.tb_frame.f_code.co_filename):
        trace = trace.tb_next
    return trace


def _show(error: BaseException, shown: TracebackType | None) -> None:
    """Prints the traceback as Python does, without the frames that started the script."""
    try:
        sys.excepthook(type(error), error.with_traceback(shown), shown)
    except BaseException:  # noqa: BLE001 - the script's own hook may do anything
        with contextlib.suppress(BaseException):
            traceback.print_exception(type(error), error, shown)
