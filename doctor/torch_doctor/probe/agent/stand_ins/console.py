"""Nobody sits at the terminal: questions are answered by their use, windows do not open, nobody waits."""

from __future__ import annotations

import builtins
import functools
import io
import os
import sys
import time
from typing import TYPE_CHECKING, Any

from ..imports import after
from . import told
from .arguments.answers import answers
from .stand_in import Setting, StandIn

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType


LONGEST_SLEEP = 0.01  # seconds
MOST_UNANSWERED = 100
TERMINAL = {"stty size": "24 80\n", "tput cols": "80\n", "tput lines": "24\n"}


class Terminal(StandIn):
    """Answers questions by what is done with the answers, opens no windows, and shortens sleeps."""

    replaces = "input from the terminal"
    voids = (told.ARGUMENTS,)

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        self._answers: dict[tuple[str, int], Iterator[str]] = {}
        self._unanswered = 0

    def prepare(self) -> None:
        """Patches `input`, `getpass`, `time.sleep`, and what opens windows."""
        os.environ["MPLBACKEND"] = "Agg"
        clock: Any = time
        sleep = time.sleep

        def shortened(seconds: float, /) -> None:
            if seconds > LONGEST_SLEEP and self.sources.called_by_user():
                self.tell("time.sleep", f"at most {LONGEST_SLEEP:g} s", why=f"{seconds:g} s", voids=[told.TIME])
            sleep(min(seconds, LONGEST_SLEEP))

        run: Any = os.popen
        system: Any = os

        def told_size(command: str, *arguments: Any, **keywords: Any) -> Any:
            size = TERMINAL.get(" ".join(command.split())) if command.__class__ is str else None
            if size is None:
                return run(command, *arguments, **keywords)
            self.tell("the terminal", "a terminal of 24 rows and 80 columns", why="queried for its size", voids=[])
            return io.StringIO(size)

        system.popen = told_size
        builtins.input = self._answered
        clock.sleep = shortened
        after("getpass", functools.partial(_no_password, self))
        after("matplotlib.pyplot", _no_windows)
        after("cv2", _no_cv2_windows)
        after("webbrowser", _no_browser)

    def _answered(self, prompt: object = "", /) -> str:
        """The next answer to the question that is asked there; a terminal that is closed when there are no more."""
        frame = sys._getframe(1)
        place = (frame.f_code.co_filename, frame.f_lineno)
        if place not in self._answers:
            self._answers[place] = iter(answers(self.sources, self.sources.innermost(), str(prompt)))
        answer = next(self._answers[place], None)
        if answer is None:
            self._unanswered += 1
            if self._unanswered > MOST_UNANSWERED:  # it asks again whatever is answered
                text = "the script keeps asking for input and accepts none of the probe's answers"
                raise self.teller.asked(text, [])
            raise EOFError
        self.tell("input()", f"the answer {answer!r}" if answer else "an empty answer")
        print(prompt)  # noqa: T201
        return answer


def _no_password(stand_in: StandIn, module: Any) -> None:
    def answered(*_: Any, **__: Any) -> str:
        stand_in.tell("getpass()", "an empty answer")
        return ""

    module.getpass = answered


def _no_windows(module: ModuleType) -> None:
    pyplot: Any = module
    pyplot.switch_backend("Agg")
    pyplot.show = pyplot.pause = lambda *_, **__: None


def _no_cv2_windows(module: ModuleType) -> None:
    cv2: Any = module
    for name in ("imshow", "namedWindow", "destroyAllWindows", "destroyWindow", "moveWindow", "resizeWindow"):
        setattr(cv2, name, lambda *_, **__: None)
    cv2.waitKey = lambda *_: -1


def _no_browser(module: ModuleType) -> None:
    browser: Any = module
    browser.open = browser.open_new = browser.open_new_tab = lambda *_, **__: False
