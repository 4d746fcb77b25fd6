"""The numbers that a script has when a pass over data is over: in variables, in what a function returns, in what is printed."""

from __future__ import annotations

import dis
import re
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d+\.\d*|\.\d+|\d+)(?:[eE][-+]?\d+)?(?![\w.]*\w)")
LARGEST = 32  # entries of a container
MOST = 200  # figures of a pass
LINES = 60  # after the loop
DEEPEST = 2


class Figures:
    """Notes them from the end of a loop on, in the process that rehearses, in the frame of the loop and those that called it.

    `found` has each as the file, the row, how it shows ("assigned", "returned", "printed"), its name, and the number.
    """

    def __init__(self, torch: Any, frame: Any, loop: Any, is_users: Callable[[str], bool]) -> None:
        self._torch = torch
        self._frame = frame
        self._loop = loop
        self._is_users = is_users
        self.end: Callable[[], None] = lambda: None
        self._row = frame.f_lineno
        self._lines = 0
        self.over = False
        self.failed = ""  # the last error that the frame met
        self.fails = False
        self._before: dict[str, float] = {}
        self.found: list[tuple[str, int, str, str, float]] = []

    def begin(self) -> None:
        """Follows the frame from here on."""
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "write"):
                stream.write = self._writing(stream.write)  # type: ignore[method-assign]
        self._frame.f_trace = self._follow
        sys.settrace(lambda *_: None)

    def _follow(self, frame: Any, event: str, value: Any) -> Any:
        first, last = (0, 0) if self._loop is None else (self._loop.node.span.row, self._loop.node.last[0])
        if event == "exception":
            self.failed = value[0].__name__
        if event == "return" and _leaves(frame, "YIELD"):
            return self._follow  # a generator goes on later
        if event == "return" and not _leaves(frame, "RETURN"):
            self.fails = True
            self.end()
        if event == "return":
            if frame is self._frame and (self.over or not first <= self._row <= last):
                self._assigned()
                self._note(self._row, "returned", self._numbers(value, "", DEEPEST + 1))
                self._go_up()
            return None
        if event == "line" and frame is self._frame:
            if self.over:
                self._assigned()
                self._lines += 1
            elif not first <= frame.f_lineno <= last:
                self.over = True
                self._before = dict(self._variables())
            self._row = frame.f_lineno
            again = self._loop is not None and first <= self._row <= last
            if self.over and (again or self._lines > LINES):
                self.end()
        return self._follow

    def _go_up(self) -> None:
        """The frame has returned: what called it has the figures now."""
        self.over, self._loop, self._frame = True, None, self._frame.f_back
        while self._frame is not None and not self._is_users(self._frame.f_code.co_filename):
            self._frame = self._frame.f_back
        if self._frame is None:
            self.end()
        self._row, self._frame.f_trace = self._frame.f_lineno, self._follow
        self._before = dict(self._variables())

    def _assigned(self) -> None:
        """What the line that is over has changed."""
        now = dict(self._variables())
        self._note(self._row, "assigned", ((k, v) for k, v in now.items() if self._before.get(k) != v))
        self._before = now

    def _variables(self) -> Iterator[tuple[str, float]]:
        for name, value in list(self._frame.f_locals.items()):
            yield from self._numbers(value, name, DEEPEST)

    def _note(self, row: int, how: str, numbers: Any) -> None:
        path = self._frame.f_code.co_filename
        self.found += [(path, row, how, name, number) for name, number in numbers][: MOST - len(self.found)]

    def _numbers(self, value: Any, name: str, depth: int) -> Iterator[tuple[str, float]]:
        """The numbers in a value: of each entry of a container under its name."""
        numpy = sys.modules.get("numpy")
        if isinstance(value, bool):
            return
        if isinstance(value, (int, float)):
            yield name, float(value)
        elif isinstance(value, self._torch.Tensor) or (numpy is not None and isinstance(value, numpy.number)):
            if getattr(value, "ndim", 1) == 0 and not getattr(value, "is_complex", bool)():
                yield name, float(value)
        elif depth and isinstance(value, (dict, list, tuple)):
            entries = value.items() if isinstance(value, dict) else enumerate(value)
            for entry, each in list(entries)[:LARGEST]:
                yield from self._numbers(each, f"{name}[{entry!r}]", depth - 1)

    def _writing(self, write: Any) -> Any:
        def written(text: Any) -> Any:
            if self.over and isinstance(text, str):
                row = self._frame.f_lineno
                place = sum(1 for each in self.found if each[1:3] == (row, "printed"))
                numbers = ((str(place + i), float(each)) for i, each in enumerate(NUMBER.findall(text)))
                self._note(row, "printed", numbers)
            return write(text)

        return written


def _leaves(frame: Any, how: str) -> bool:
    """Whether a frame is left by such an instruction, and not by an error."""
    return bool(dis.opname[frame.f_code.co_code[frame.f_lasti]].startswith(how))
