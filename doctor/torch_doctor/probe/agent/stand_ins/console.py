"""Nobody sits at the terminal: questions are answered with nothing, windows do not open, nobody waits."""

from __future__ import annotations

import builtins
import functools
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


def prepare(sources: Sources, teller: Teller) -> None:
    """Patches `input`, `getpass`, `time.sleep`, and what opens windows."""
    os.environ["MPLBACKEND"] = "Agg"
    sleep = time.sleep

    def answered(prompt: object = "", /) -> str:
        teller.stand_in("input()", "a question at the terminal", "an empty answer", [told.ARGUMENTS])
        print(prompt)  # noqa: T201
        return ""

    def shortened(seconds: float, /) -> None:
        if seconds > LONGEST_SLEEP and sources.called_by_user():
            teller.stand_in("time.sleep", f"{seconds:g} s", f"{LONGEST_SLEEP:g} s at most", [told.TIME])
        sleep(min(seconds, LONGEST_SLEEP))

    builtins.input = answered
    time.sleep = shortened
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
