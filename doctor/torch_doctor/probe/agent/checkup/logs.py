"""What the script says while it trains: each place once, with the text."""

from __future__ import annotations

import builtins
import functools
import logging
import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .caught import Caught

MOST, LONGEST = 20, 100  # places, and characters of a text


class Logs:
    """Listens to `print` and to `logging` from the first update on, and tells each place once."""

    def __init__(self, catcher: Caught) -> None:
        self._catcher = catcher
        self._recorder = catcher.recorder
        self._known: set[int] = set()

    def install(self) -> None:
        """Wraps both."""
        printing, handling = builtins.print, logging.Logger.handle

        @functools.wraps(printing)
        def print_(*things: Any, **how: Any) -> None:
            printing(*things, **how)
            if self._catcher.caught:
                self._recorder.safely(self._take, "print", things)

        @functools.wraps(handling)
        def handle(logger: logging.Logger, record: logging.LogRecord) -> None:
            handling(logger, record)
            if self._catcher.caught:
                self._recorder.safely(self._take, "logging", (record.getMessage(),))

        builtins.print = print_
        setattr(logging.Logger, "handle", handle)  # noqa: B010 - a method of another's

    def _take(self, how: str, things: tuple[Any, ...]) -> None:
        frame = self._recorder.sites.frame(2)
        if frame is None or len(self._known) >= MOST:
            return
        site = self._recorder.sites.of_frame(frame)
        if site in self._known:
            return
        self._known.add(site)
        text = " ".join(each if isinstance(each, str) else _short(each) for each in things)
        where = f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}"
        self._recorder.channel.write(t="logs", how=how, where=where, text=" ".join(text.split())[:LONGEST])


def _short(value: Any) -> str:
    plain = isinstance(value, (int, float, bool)) or (hasattr(value, "numel") and value.numel() == 1)
    return str(value) if plain else type(value).__name__
