"""The rows of which the launcher wants to know whether the script comes there."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from ..hooks import name_of, put
from .syntax import compiles

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ..channel import Channel

HOOK, ARM = "passed", "arm"


class StatementMarks:
    """Puts a mark before each statement that begins in one of the rows, and writes the rows when the first of them is passed.

    The arms of conditional expressions, `and` and `or` included, are marked there, too: who has taken one has not gone all ways.
    """

    def __init__(self, rows: Mapping[str, Sequence[int]], channel: Channel) -> None:
        self._rows = {path: frozenset(own) for path, own in rows.items()}
        self._channel = channel
        self._marks: list[tuple[str, list[int]]] = []
        self._passed: set[int] = set()
        self._again: set[int] = set()
        self._arms: list[tuple[str, tuple[int, ...]]] = []
        self._open: dict[tuple[str, int], set[int]] = {}
        put(HOOK, self.passed)
        put(ARM, self.taken)

    def passed(self, key: int) -> None:
        """The script comes to a mark."""
        path, rows = self._marks[key]
        if key not in self._passed:
            self._passed.add(key)
            self._channel.write(t="passed", path=path, rows=rows)
        elif key not in self._again:  # what is decided once has no other way in this run
            self._again.add(key)
            if forked := [row for row in rows if (path, row) in self._open]:
                self._channel.write(t="forked", path=path, rows=forked)

    def taken(self, key: int, value: Any) -> Any:
        """An arm of a conditional expression is taken; returns its value."""
        path, rows = self._arms[key]
        for row in rows:
            left = self._open.get((path, row))
            if left is not None and key in left:
                left.remove(key)
                if not left:
                    self._channel.write(t="whole", path=path, rows=[row])
        return value

    def mark(self, tree: ast.Module, path: str) -> None:
        """Marks the statements of a file, which is not changed yet otherwise."""
        rows, first = self._rows.get(path), len(self._marks)
        if not rows:
            return
        for node in _walked(tree):
            for _, statements in ast.iter_fields(node):
                if isinstance(statements, list) and any(isinstance(each, ast.stmt) for each in statements):
                    statements[:] = list(self._marked(statements, rows, path))
        marked = sorted({row for _, own in self._marks[first:] for row in own})
        self._channel.write(t="marked", path=path, rows=marked)

    def _marked(self, statements: Sequence[ast.stmt], rows: frozenset[int], path: str) -> Iterable[ast.stmt]:
        for statement in statements:
            if _is_mark(statement):
                yield statement
                continue
            own = sorted(rows.intersection(_own_rows(statement)))
            for node in _conditional(statement) if own else ():
                if isinstance(node, ast.IfExp):
                    node.body, node.orelse = (self._arm(arm, path, own) for arm in (node.body, node.orelse))
                else:
                    node.values[1:] = [self._arm(value, path, own) for value in node.values[1:]]
            function = isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef))
            if own and function:  # who comes to a function is in it
                body = statement.body  # type: ignore[attr-defined]  # of a function
                body.insert(int(_is_text(body[0])), self._mark(body[0], path, own))
            elif own and not _has_to_be_first(statement):
                yield self._mark(statement, path, own)
            yield statement

    def _arm(self, arm: ast.expr, path: str, rows: Sequence[int]) -> ast.expr:
        self._arms.append((path, tuple(rows)))
        key = len(self._arms) - 1
        for row in rows:
            self._open.setdefault((path, row), set()).add(key)
        made = ast.Call(ast.Name(name_of(ARM), ast.Load()), [ast.Constant(key), arm], [])
        for part in (made, made.func, made.args[0]):
            ast.copy_location(part, arm)
        return made

    def _mark(self, at: ast.stmt, path: str, rows: list[int]) -> ast.stmt:
        self._marks.append((path, rows))
        key = len(self._marks) - 1
        made = ast.Expr(ast.Call(ast.Name(name_of(HOOK), ast.Load()), [ast.Constant(key)], []))
        for part in ast.walk(made):
            ast.copy_location(part, at)
        return made


def _conditional(statement: ast.stmt) -> list[ast.IfExp | ast.BoolOp]:
    """The conditional expressions in a statement, outside of the statements in it; inner ones first."""
    waiting: list[ast.AST] = [statement]
    found: list[ast.IfExp | ast.BoolOp] = []
    while waiting:
        node = waiting.pop()
        found += [node] if isinstance(node, (ast.IfExp, ast.BoolOp)) else []
        waiting += [each for each in ast.iter_child_nodes(node) if not isinstance(each, (ast.stmt, ast.match_case))]
    return found[::-1]


def _own_rows(statement: ast.stmt) -> range:
    """The rows of a statement without those of the statements in it."""
    body = statement.cases if isinstance(statement, ast.Match) else getattr(statement, "body", None)
    inner = [each.lineno for each in ast.walk(body[0]) if hasattr(each, "lineno")] if body else []
    last = min(inner) - 1 if inner else statement.end_lineno or statement.lineno
    return range(statement.lineno, max(last, statement.lineno) + 1)


def _walked(tree: ast.Module) -> Iterator[ast.AST]:
    """Everything but functions whose bytecode a compiler reads."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if not any(compiles(each) for each in getattr(node, "decorator_list", ())):
            yield node
            waiting.extend(ast.iter_child_nodes(node))


def _is_mark(statement: ast.stmt) -> bool:
    call = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == name_of(HOOK)


def _is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _has_to_be_first(statement: ast.stmt) -> bool:
    """Whether it has another meaning, or none, behind something else."""
    return _is_text(statement) or (isinstance(statement, ast.ImportFrom) and statement.module == "__future__")
