"""Whether the user's code knows what to do when an import fails."""

from __future__ import annotations

import ast
import sys
from typing import TYPE_CHECKING

from .demands import gives_up
from .source import spelled

if TYPE_CHECKING:
    from types import FrameType

    from .source import Sources

NARROW = frozenset({"ImportError", "ModuleNotFoundError"})
BROAD = frozenset({"Exception", "BaseException"})
SIMPLE = (ast.Import, ast.ImportFrom, ast.Assign, ast.AnnAssign, ast.Expr, ast.Pass)


def importing_frame() -> FrameType | None:
    """The frame that asks for the module that is being looked for, past the import machinery."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        name = frame.f_globals.get("__name__", "")
        if not name.startswith(("importlib", "_frozen_importlib")) and "torch_doctor" not in name:
            return frame
        frame = frame.f_back
    return None


def is_only_asking() -> bool:
    """Whether the module is looked for by `importlib.util.find_spec`, which imports nothing."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_name == "find_spec" and frame.f_globals.get("__name__") == "importlib.util":
            return True
        frame = frame.f_back
    return False


def is_a_name() -> bool:
    """Whether what is looked for is a name that `from module import name` wants, and may be no module."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_name != "<module>":
        if frame.f_code.co_name == "_handle_fromlist":
            return True
        frame = frame.f_back
    return False


def has_fallback(sources: Sources, frame: FrameType | None) -> bool:
    """Whether a handler around the import, in `frame` or in a caller of the user's, lets the script go on without it.

    A handler that raises or leaves is none. Handlers of everything count only around a block of imports.
    """
    direct = True
    while frame is not None:
        if sources.is_users(frame.f_code.co_filename):
            for statement in sources.statements(frame):
                if (
                    isinstance(statement, ast.Try)
                    and _is_in(statement.body, frame.f_lineno)
                    and _handled(statement, direct=direct)
                ):
                    return True
                if isinstance(statement, (ast.With, ast.AsyncWith)) and _suppresses(statement):
                    return True
            direct = False
        frame = frame.f_back
    return False


def _is_in(body: list[ast.stmt], line: int) -> bool:
    return bool(body) and body[0].lineno <= line <= (body[-1].end_lineno or line)


def _handled(statement: ast.Try, *, direct: bool) -> bool:
    for handler in statement.handlers:
        kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
        names = {"BaseException" if kind is None else spelled(kind) for kind in kinds}
        broad = direct and bool(names & BROAD) and all(isinstance(inner, SIMPLE) for inner in statement.body)
        if names & NARROW or broad:
            return not gives_up(handler.body)
    return False


def _suppresses(statement: ast.With | ast.AsyncWith) -> bool:
    calls = [item.context_expr for item in statement.items if isinstance(item.context_expr, ast.Call)]
    return any(spelled(call) == "suppress" and any(spelled(kind) in NARROW for kind in call.args) for call in calls)
