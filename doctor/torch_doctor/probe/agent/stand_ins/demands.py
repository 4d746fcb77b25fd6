"""What the script demands: a question that has to be answered with yes (`assert torch.cuda.is_available()`), no error."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from .source import spelled, targets

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

    from .source import Sources

LEAVING = frozenset({"exit", "quit", "_exit"})
COMPLAINING = frozenset({"error", "print_help", "print_usage"})
"""Methods of parsers, and of logs, that say that something was not given."""


def demanded(sources: Sources, frame: FrameType, name: str, *, returning: bool = True) -> bool:
    """Whether the statement that `frame` runs gives up unless `name()` answers yes, at once or by a variable that holds it.

    Who leaves the function without a value gives up only where `returning` counts.
    """
    statements = sources.statements(frame)
    if not statements:
        return False
    statement = statements[0]
    if _gives_up_without(statement, name, returning=returning):
        return True
    held = targets(statement)
    tree = sources.tree(frame.f_code.co_filename)
    return (
        bool(held)
        and any(spelled(node) == name for node in ast.walk(statement) if isinstance(node, ast.Call))
        and tree is not None
        and any(_gives_up_without(node, word, returning=returning) for node in _tests(tree) for word in held)
    )


def wanted(sources: Sources, name: str) -> bool:
    """Whether the user's code gives up where `args.name` was not given."""
    return any(
        any(spelled(part) == name for part in ast.walk(node.test) if isinstance(part, ast.Attribute))
        and _gives_up_without(node, name, leaving=LEAVING | COMPLAINING)
        for tree in sources.project_trees()
        for node in _tests(tree)
    )


def least(sources: Sources, frame: FrameType, name: str) -> int:
    """The smallest count that the script goes on with where it compares `name()`, or what holds it, in an `assert`; else 1."""
    statements = sources.statements(frame)
    tree = sources.tree(frame.f_code.co_filename)
    if not statements or tree is None:
        return 1
    words = [name, *targets(statements[0])]
    wanted = 1
    for node in _tests(tree):
        test = node.test
        if isinstance(node, ast.Assert) and isinstance(test, ast.Compare) and spelled(test.left) in words:
            bound = test.comparators[0]
            if isinstance(bound, ast.Constant) and isinstance(bound.value, int):
                wanted = max(wanted, bound.value + isinstance(test.ops[0], ast.Gt))
    return wanted


def is_tested(sources: Sources, frame: FrameType, name: str) -> bool:
    """Whether the statement that `frame` runs asks `name()` to decide something, rather than for its value."""
    for statement in sources.statements(frame)[:1]:
        for node in ast.walk(statement):
            if isinstance(node, (ast.If, ast.While, ast.IfExp, ast.Assert)) and _asks(node.test, name):
                return True
            if isinstance(node, (ast.Compare, ast.BoolOp)) and _asks(node, name):
                return True
    return False


def caught(sources: Sources, frame: FrameType) -> Iterator[set[str]]:
    """Yield the names of the errors that each handler around the line of a frame catches, unless it gives up."""
    for statement in sources.statements(frame):
        if not isinstance(statement, ast.Try):
            continue
        if statement.body[0].lineno <= frame.f_lineno <= (statement.body[-1].end_lineno or 0):
            for handler in statement.handlers:
                kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
                if not gives_up(handler.body):
                    yield {"Exception" if kind is None else spelled(kind) for kind in kinds}


def gives_up(body: list[ast.stmt], *, returning: bool = True, leaving: frozenset[str] = LEAVING) -> bool:
    """Whether a block raises, leaves the program by a function, or returns without a value where `returning` counts."""
    for statement in body:
        if isinstance(statement, ast.Raise):
            return True
        if returning and isinstance(statement, ast.Return) and statement.value is None:
            return True
        if (
            isinstance(statement, ast.Expr)
            and isinstance(statement.value, ast.Call)
            and spelled(statement.value) in leaving
        ):
            return True
    return False


def _tests(tree: ast.Module) -> Iterator[ast.If | ast.Assert]:
    return (node for node in ast.walk(tree) if isinstance(node, (ast.If, ast.Assert)))


def _gives_up_without(
    statement: ast.AST, name: str, *, returning: bool = True, leaving: frozenset[str] = LEAVING
) -> bool:
    if isinstance(statement, ast.Assert):
        return _asks(statement.test, name) and not _is_negated(statement.test, name)
    if isinstance(statement, ast.If) and _asks(statement.test, name):
        body = statement.body if _is_negated(statement.test, name) else statement.orelse
        return gives_up(body, returning=returning, leaving=leaving)
    return False


def _asks(test: ast.AST, name: str) -> bool:
    return any(spelled(node) == name for node in ast.walk(test) if isinstance(node, (ast.Name, ast.Attribute)))


def _is_negated(test: ast.AST, name: str) -> bool:
    for node in ast.walk(test):
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not) and _asks(node.operand, name):
            return True
        if isinstance(node, ast.Compare) and _asks(node.left, name):
            bound = node.comparators[0]
            if not isinstance(bound, ast.Constant):
                continue
            if isinstance(node.ops[0], (ast.Eq, ast.Is)) and not bound.value:
                return True
            if isinstance(node.ops[0], (ast.Lt, ast.LtE)):
                return True
    return False
