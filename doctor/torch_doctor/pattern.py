"""Regular expressions that are compiled when they are first used: a scan of a small file uses few of them."""

from __future__ import annotations

import re
from typing import Any, AnyStr


class _Pattern:
    """Stands for a compiled expression, whose methods become its own at the first use of any."""

    def __init__(self, text: str | bytes, flags: int) -> None:
        self._text = text
        self._flags = flags

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - asked only for what is not there yet
        compiled: re.Pattern[Any] = re.compile(self._text, self._flags)
        for each in ("search", "match", "fullmatch", "split", "findall", "finditer", "sub", "subn", "pattern"):
            setattr(self, each, getattr(compiled, each))
        return getattr(compiled, name)


def pattern(text: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Return the expression, compiled at its first use."""
    return _Pattern(text, flags)  # type: ignore[return-value]  # it has the methods of one
