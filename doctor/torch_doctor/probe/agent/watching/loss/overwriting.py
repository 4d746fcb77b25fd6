"""Names that were called and got the result, when the script failed on them: `criterion = criterion(out, y)`."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from ...nodes import span_of

if TYPE_CHECKING:
    from types import FrameType

    from ..watch import Watch

SAID = ("object is not callable", "as child module")
"""What Python and torch say to a call of a tensor, and to a tensor in the place of a registered module."""


class Watcher:
    """Looks, when the script ends with an exception, whether the statement that failed is such an assignment."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._recorder = watch.recorder

    def install(self) -> None:
        """Asks to be called at the end."""
        self._recorder.at_end.append(self._at_end)

    def _at_end(self, error: BaseException | None) -> None:
        unbound = isinstance(error, UnboundLocalError)
        if error is None or not (
            unbound or (isinstance(error, TypeError) and any(each in str(error) for each in SAID))
        ):
            return
        sites = self._recorder.sites
        frame, row = None, 0
        trace = error.__traceback__
        while trace is not None:
            if sites.is_users(trace.tb_frame.f_code.co_filename):
                frame, row = trace.tb_frame, trace.tb_lineno
            trace = trace.tb_next
        file = self._recorder.index.file(frame.f_code.co_filename) if frame is not None else None
        node = _assignment(file.text, row) if file is not None else None
        if frame is not None and file is not None and node is not None:
            site = sites.number(span_of(file.path, node))
            self._tell(frame, node, file.spelled(node.targets[0]), site, unbound=unbound)

    def _tell(self, frame: FrameType, node: ast.Assign, name: str, site: int, *, unbound: bool) -> None:
        recorder, torch = self._recorder, self._watch.torch
        value = _found(frame, node.targets[0])
        if unbound and not callable(value):
            return
        loss = f"torch.nn.{type(value).__name__}" if isinstance(value, torch.nn.modules.loss._Loss) else ""
        result = self._watch.facts.of(value) if isinstance(value, torch.Tensor) else {}
        recorder.event("Overwritten", recorder.here(), site=site, name=name, loss=loss, result=result, fails_at=site)


def _assignment(text: str, row: int) -> ast.Assign | None:
    """The assignment in a row to just what it calls."""
    for node in ast.walk(ast.parse(text)):
        if (
            isinstance(node, ast.Assign)
            and node.lineno <= row <= (node.end_lineno or row)
            and isinstance(node.value, ast.Call)
            and any(ast.unparse(target) == ast.unparse(node.value.func) for target in node.targets)
        ):
            return node
    return None


def _found(frame: FrameType, node: ast.expr) -> Any:
    """What a name, or an attribute of one, is in a frame; None where there is none."""
    if isinstance(node, ast.Name):
        return frame.f_locals.get(node.id, frame.f_globals.get(node.id))
    return getattr(_found(frame, node.value), node.attr, None) if isinstance(node, ast.Attribute) else None
