"""Tests in the script that may turn out otherwise in later passes, and then change what goes backward."""

from __future__ import annotations

import ast
import functools
from typing import TYPE_CHECKING

from .drawing import Drawing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from ...watching.watch import Watch

ORDERING = (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq)
BACKWARD = frozenset({"backward", "manual_backward"})
"""Methods that go backward."""
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def may_join(watch: Watch) -> bool:
    """Whether what is left out of the loss now may be part of it in a later pass: `if epoch >= 5: loss = loss + extra`."""
    trees, drawing = watch.recorder.index.trees(), Drawing(watch)
    changing = {name for tree in trees.values() for name in _attributes_set_later(tree)}
    return any(
        _Body(body, changing, functools.partial(drawing.draws, path=path)).decides()
        for path, tree in trees.items()
        for body in _bodies(tree)
    )


def _bodies(tree: ast.Module) -> Iterator[ast.AST]:
    """The script and its functions."""
    yield tree
    yield from (node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)))


def _attributes_set_later(tree: ast.Module) -> Iterator[str]:
    """The attributes that something else than a constructor sets."""
    for body in _bodies(tree):
        if getattr(body, "name", "") != "__init__":
            for node in _own(body):
                yield from (each.attr for each in _targets(node) if isinstance(each, ast.Attribute))


class _Body:
    """A function, or what a script does by itself.

    `changing` are the attributes that are set later; `draws` tells whether a call draws random numbers.
    """

    def __init__(self, body: ast.AST, changing: set[str], draws: Callable[[ast.Call], bool]) -> None:
        self._nodes = list(_own(body))
        self._changing = changing
        self._draws = draws
        parameters = body.args if isinstance(body, (ast.FunctionDef, ast.AsyncFunctionDef)) else None
        self._names = (
            {each.arg for each in (*parameters.posonlyargs, *parameters.args)} if parameters is not None else set()
        )
        for loop in self._nodes:
            if isinstance(loop, (ast.For, ast.AsyncFor, ast.While)):
                self._names.update(_names([loop.target] if not isinstance(loop, ast.While) else []))
                self._names.update(_names(target for node in ast.walk(loop) for target in _targets(node)))

    def decides(self) -> bool:
        """Whether such a test decides what goes backward, or what is returned."""
        lost = self._lost()
        for node in self._nodes:
            if isinstance(node, ast.If) and self._turns(node.test):
                for inner in (each for arm in (*node.body, *node.orelse) for each in ast.walk(arm)):
                    if _goes_backward(inner):
                        return True
                    if not lost.isdisjoint(_names(_targets(inner))):
                        return True
        return False

    def _lost(self) -> set[str]:
        """The names whose values go into what goes backward here, or is returned."""
        ends: list[ast.AST] = [node for node in self._nodes if _goes_backward(node)]
        ends += [node.value for node in self._nodes if isinstance(node, ast.Return) and node.value is not None]
        found, before = set(_names(ends)), -1
        while len(found) != before:
            before = len(found)
            for node in self._nodes:
                if found & _names(_targets(node)) and (value := getattr(node, "value", None)) is not None:
                    found |= _names([value])
        return found

    def _turns(self, test: ast.expr) -> bool:
        """Whether a test compares what other passes change, asks for a flag that is set later, or leaves it to chance."""
        for node in ast.walk(test):
            if isinstance(node, ast.Attribute) and node.attr in self._changing:
                return True
            if isinstance(node, ast.Call) and self._draws(node):
                return True
            compares = isinstance(node, ast.Compare) and isinstance(node.ops[0], ORDERING)
            remains = isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod)
            if (compares or remains) and self._names & _bare(node):
                return True
        return False


def _own(body: ast.AST) -> Iterator[ast.AST]:
    """What is in a body, and in no function within it."""
    waiting = list(ast.iter_child_nodes(body))
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, FUNCTIONS):
            waiting.extend(ast.iter_child_nodes(node))


def _bare(node: ast.AST) -> set[str]:
    """The names in an expression of which nothing but the value counts: no shape, no length, no item."""
    found: set[str] = set()
    waiting = [node]
    while waiting:
        each = waiting.pop()
        if isinstance(each, ast.Name):
            found.add(each.id)
        elif isinstance(each, (ast.Compare, ast.BinOp, ast.UnaryOp, ast.BoolOp)):
            waiting.extend(ast.iter_child_nodes(each))
    return found


def _targets(node: ast.AST) -> list[ast.expr]:
    if isinstance(node, ast.Assign):
        return node.targets
    return [node.target] if isinstance(node, (ast.AugAssign, ast.AnnAssign, ast.NamedExpr)) else []


def _names(nodes: Iterable[ast.AST]) -> set[str]:
    return {each.id for node in nodes for each in ast.walk(node) if isinstance(each, ast.Name)}


def _goes_backward(node: ast.AST) -> bool:
    """Whether this goes backward: `loss.backward()`, `accelerator.backward(loss)`."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in BACKWARD
