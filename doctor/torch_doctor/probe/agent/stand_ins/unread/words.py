"""The text that a placeholder is taken for, where a statement tests which of several it is."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from ..arguments.values import easiest

if TYPE_CHECKING:
    from ..source import Sources

SEVERAL = 2  # texts, one of which a value is likely to be


class ChosenWords:
    """Chooses one of the texts that a chain of tests names: where it gives up else, or, with `likely`, where it has several."""

    def __init__(self, sources: Sources, *, likely: bool) -> None:
        self._sources = sources
        self._likely = likely

    def chosen(self) -> str:
        """The text that a value is, by the statement of the user's that compares it; empty where it may be another one."""
        frame = self._sources.innermost()
        around = self._sources.statements(frame) if frame is not None else []
        if not around:
            return ""
        statement = around[0]
        if isinstance(statement, ast.Assert):
            return easiest(_texts(statement.test) or [""])
        if not isinstance(statement, ast.If):
            return ""
        for outer in around[1:]:
            if not isinstance(outer, ast.If) or outer.orelse != [statement]:
                break
            statement = outer
        return self._of_chain(statement)

    def _of_chain(self, statement: ast.If) -> str:
        texts: list[str] = []
        while True:
            texts += _texts(statement.test)
            gives_up = any(isinstance(each, ast.Raise) for each in (*statement.body[:1], *statement.orelse[:1]))
            below = statement.orelse[0] if len(statement.orelse) == 1 else None
            if not isinstance(below, ast.If):
                break
            statement = below
        likely = gives_up or (self._likely and len(texts) >= SEVERAL)
        return easiest(texts) if texts and likely else ""


def _texts(test: ast.expr) -> list[str]:
    """The texts with which a test compares something."""
    if any(isinstance(node, ast.Slice) for node in ast.walk(test)):
        return []  # a part of it is compared
    compared = [node for node in ast.walk(test) if isinstance(node, ast.Compare)]
    parts = [part for node in compared for part in ast.walk(node)]
    return [part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str)]
