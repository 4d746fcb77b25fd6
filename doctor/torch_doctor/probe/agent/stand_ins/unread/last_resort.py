"""The last resort for a script that does not come to its training loop: whatever fails before it is left out."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from ..told import Asked
from .content import UnknownFormError

if TYPE_CHECKING:
    from types import FrameType

    from ..source import Sources
    from ..told import Teller

CAUGHT = (Exception, SystemExit)
"""What is left out: a script that gives up does not fail."""
NEVER = (SyntaxError, MemoryError, RecursionError, StopIteration, UnknownFormError, Asked)
"""What nothing is gained by leaving out, or is no error."""
LOOPS = (ast.For, ast.AsyncFor, ast.While)
WITHOUT_VALUE = (ast.Expr, ast.Raise, ast.Assert)


class LastResort:
    """Leaves out any statement that fails before the first update; the loops around it prove nothing then."""

    def __init__(self, sources: Sources, teller: Teller) -> None:
        self._sources = sources
        self._teller = teller

    def leaves_out(self, error: BaseException) -> bool:
        """Whether a statement that raised this may be left out."""
        return isinstance(error, CAUGHT) and not isinstance(error, NEVER)

    def instead(self, frame: FrameType) -> str:
        """What there is instead of the statement that a frame runs."""
        statements = self._sources.statements(frame)
        has_value = not statements or not isinstance(statements[0], WITHOUT_VALUE)
        return "placeholder values inferred from their use" if has_value else "nothing"

    def breaks(self) -> None:
        """Tells in which loops a statement is left out."""
        for frame in self._sources.frames():
            around = self._sources.statements(frame)
            self._teller.broken(frame.f_code.co_filename, [each.lineno for each in around if isinstance(each, LOOPS)])
