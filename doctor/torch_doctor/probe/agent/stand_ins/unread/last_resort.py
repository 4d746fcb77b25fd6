"""The last resort for a script that does not come to its training loop: whatever fails before it is left out."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from ..told import Asked
from .callers import Callers
from .content import UnknownFormError, Unread

if TYPE_CHECKING:
    from types import FrameType

    from ..source import Sources
    from ..told import Teller
    from .directly import Found
    from .interposing import Interposing

CAUGHT = (Exception, SystemExit)
"""What is left out: a script that gives up does not fail."""
NEVER = (SyntaxError, MemoryError, RecursionError, StopIteration, Asked)
"""What nothing is gained by leaving out, or is no error."""
TRAINING = frozenset({"backward", "zero_grad", "step"})
"""Names of which one is in whatever trains."""
LOOPS = (ast.For, ast.AsyncFor, ast.While)
WITHOUT_VALUE = (ast.Expr, ast.Raise, ast.Assert)


class LastResort:
    """Leaves out any statement that fails before the first update; the loops around it prove nothing then.

    Nor do loops in which the script chooses by what stands in for a value.
    """

    def __init__(self, sources: Sources, teller: Teller, interposing: Interposing) -> None:
        self._sources = sources
        self._teller = teller
        self._interposing = interposing
        Unread.chooses = self._breaks_here

    def leaves_out(self, error: BaseException, asking: FrameType) -> bool:
        """Whether a statement that raised this in the frame that asks may be left out."""
        if isinstance(error, UnknownFormError):  # what trains wants it
            return not TRAINING & {*asking.f_code.co_names}
        return isinstance(error, CAUGHT) and not isinstance(error, NEVER)

    def instead(self, frame: FrameType) -> str:
        """What there is instead of the statement that a frame runs."""
        statements = self._sources.statements(frame)
        has_value = not statements or not isinstance(statements[0], WITHOUT_VALUE)
        return "placeholder values inferred from their use" if has_value else "nothing"

    def breaks(self, torch: Any, error: BaseException, asking: FrameType) -> None:
        """Tells in which loops a statement is left out, and whether it might have put something between their lines."""
        if self._interposing.might(torch, error, asking):
            self._teller.interposed(asking.f_code.co_filename, asking.f_lineno)
        self._breaks_here()

    def is_called(self, torch: Any, found: Found) -> None:
        """Tells, of a function that was called with placeholders, whether its callers might put something between its lines."""
        place = Callers(self._sources, self._interposing).might(torch, found)
        if place is not None:
            self._teller.interposed(*place)

    def _breaks_here(self) -> None:
        for frame in self._sources.frames():
            around = self._sources.statements(frame)
            self._teller.broken(frame.f_code.co_filename, [each.lineno for each in around if isinstance(each, LOOPS)])
