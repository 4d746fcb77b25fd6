"""Nobody sits at the terminal: questions are answered with nothing, windows do not open, nobody waits."""

from __future__ import annotations

import builtins
import functools
import io
import os
import time
from typing import TYPE_CHECKING, Any

from ..imports import after
from . import told

if TYPE_CHECKING:
    from types import ModuleType

    from .source import Sources
    from .told import Teller

LONGEST_SLEEP = 0.01  # seconds
TERMINAL = {"stty size": "24 80\n", "tput cols": "80\n", "tput lines": "24\n"}


def prepare(sources: Sources, teller: Teller) -> None:
    """Patches `input`, `getpass`, `time.sleep`, and what opens windows."""
    os.environ["MPLBACKEND"] = "Agg"
    clock: Any = time
    sleep = time.sleep

    def answered(prompt: object = "", /) -> str:
        teller.stand_in("input()", "a question at the terminal", "an empty answer", [told.ARGUMENTS])
        print(prompt)  # noqa: T201
        return ""

    def shortened(seconds: float, /) -> None:
        if seconds > LONGEST_SLEEP and sources.called_by_user():
            teller.stand_in("time.sleep", f"{seconds:g} s", f"{LONGEST_SLEEP:g} s at most", [told.TIME])
        sleep(min(seconds, LONGEST_SLEEP))

    run: Any = os.popen
    system: Any = os

    def told_size(command: str, *arguments: Any, **keywords: Any) -> Any:
        size = TERMINAL.get(" ".join(command.split())) if command.__class__ is str else None
        if size is None:
            return run(command, *arguments, **keywords)
        teller.stand_in("the terminal", "a question for its size", "one of 24 rows and 80 columns", [])
        return io.StringIO(size)

    system.popen = told_size
    builtins.input = answered
    clock.sleep = shortened
    after("getpass", functools.partial(_no_password, teller))
    after("matplotlib.pyplot", _no_windows)
    after("cv2", _no_cv2_windows)
    after("webbrowser", _no_browser)


def _no_password(teller: Teller, module: Any) -> None:
    def answered(*_: Any, **__: Any) -> str:
        teller.stand_in("getpass()", "a question at the terminal", "an empty answer", [told.ARGUMENTS])
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
