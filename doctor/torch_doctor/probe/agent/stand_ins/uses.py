"""What the user's code does with a value that is not there yet: converts it, compares it, takes it apart, names it."""

from __future__ import annotations

import ast
import dataclasses
from typing import TYPE_CHECKING, Any

from .source import spelled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

CONVERSIONS: dict[str, Any] = {
    "int": int,
    "float": float,
    "bool": bool,
    "eval": int,
    "literal_eval": int,
    "range": int,
    "int32": int,
    "int64": int,
    "float32": float,
    "float64": float,
}
SAME = frozenset({"strip", "lower", "upper", "rstrip", "lstrip", "casefold", "title", "capitalize", "replace", "str"})
"""Methods and functions that give the text of a text."""
GATHERING = frozenset({"list", "tuple", "sorted", "set", "array", "asarray", "tensor", "iter"})
HOLDING = (ast.Assign, ast.AnnAssign, ast.NamedExpr)
SEEN_THROUGH = (ast.GeneratorExp, ast.ListComp, ast.comprehension, ast.IfExp, ast.BoolOp, ast.Tuple, ast.Starred)
DEEPEST = 2  # names that hold a value, and then a part of it


@dataclasses.dataclass
class Use:
    """What becomes of a value.

    Attributes:
        kind: `int`, `float` or `bool` where it is converted.
        words: the texts that it is compared with, or looked up among.
        numbers: the numbers that it is compared with, when it was converted.
        names: the variables that hold it.
        count: how many values it is taken apart into.
        separator: what it is split at; None where it is not split, empty for white space.
    """

    kind: Any = None
    words: list[str] = dataclasses.field(default_factory=list)
    numbers: list[float] = dataclasses.field(default_factory=list)
    names: list[str] = dataclasses.field(default_factory=list)
    count: int = 1
    separator: str | None = None


def use_of(trees: Iterable[ast.Module], is_it: Callable[[ast.AST], bool]) -> Use:
    """What the code of some files does with the expressions of which `is_it` is true."""
    use = Use()
    for tree in trees:
        nodes = [node for node in ast.walk(tree) if is_it(node)]
        if nodes:
            _Reader(tree, use).read(nodes, DEEPEST)
    return use


class _Reader:
    """Follows a value through one file, from an expression outwards and through the names that hold it."""

    def __init__(self, tree: ast.Module, use: Use) -> None:
        self._tree = tree
        self._use = use
        self._parents = {id(child): node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}

    def read(self, nodes: list[ast.AST], depth: int) -> None:
        for node in nodes:
            holder = self._climb(node)
            held = _held(holder) if holder is not None and depth else []
            for name in held:
                self._use.names.append(name)
                self.read(
                    [
                        each
                        for each in ast.walk(self._tree)
                        if isinstance(each, (ast.Name, ast.Attribute))
                        and isinstance(each.ctx, ast.Load)
                        and spelled(each) == name
                    ],
                    depth - 1,
                )

    def _climb(self, node: ast.AST) -> ast.AST | None:
        """Goes outwards as long as the value is the same; returns the statement that keeps it."""
        parent = self._parents.get(id(node))
        while parent is not None and self._goes_through(parent, node):
            node, parent = parent, self._parents.get(id(parent))
        return parent if isinstance(parent, HOLDING) else None

    def _goes_through(self, parent: ast.AST, node: ast.AST) -> bool:
        """Whether an expression around the value has the same value; what else it does with it is noted."""
        if isinstance(parent, ast.Call):
            return self._called(parent, node)
        if isinstance(parent, ast.Attribute):
            return parent.attr in SAME or parent.attr == "split"
        if isinstance(parent, (ast.GeneratorExp, ast.ListComp)):
            self._each(parent)
        elif isinstance(parent, ast.Compare):
            self._compared(parent, node)
        elif isinstance(parent, ast.Subscript):
            self._looked_up(parent, node)
        elif isinstance(parent, HOLDING):
            self._count(parent)
        return isinstance(parent, SEEN_THROUGH)

    def _called(self, call: ast.Call, node: ast.AST) -> bool:
        name = spelled(call)
        if node is call.func:
            if name == "split":
                given = call.args[0] if call.args else None
                self._use.separator = str(given.value) if isinstance(given, ast.Constant) and given.value else ""
            return True
        if name == "map" and len(call.args) > 1 and node is call.args[1]:
            self._converted(spelled(call.args[0]))
            return True
        self._converted(name)
        return name in CONVERSIONS or name in GATHERING or name in SAME

    def _converted(self, name: str) -> None:
        if self._use.kind is None:
            self._use.kind = CONVERSIONS.get(name)

    def _each(self, node: ast.GeneratorExp | ast.ListComp) -> None:
        """`float(x) for x in value`."""
        if isinstance(node.elt, ast.Call):
            self._converted(spelled(node.elt))

    def _compared(self, node: ast.Compare, side: ast.AST) -> None:
        others = node.comparators if side is node.left else [node.left]
        for other in others:
            for each in ast.walk(other):
                if isinstance(each, ast.Constant):
                    self._met(each.value)
                elif isinstance(each, ast.Name):
                    for key in self._keys(each):
                        self._met(key)

    def _met(self, value: Any) -> None:
        if isinstance(value, str):
            self._use.words.append(value)
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            self._use.numbers.append(value)

    def _looked_up(self, node: ast.Subscript, side: ast.AST) -> None:
        if side is node.slice:
            for key in self._keys(node.value):
                self._met(key)

    def _keys(self, node: ast.expr) -> list[Any]:
        """What a display holds, or one that a name was given."""
        if isinstance(node, (ast.Name, ast.Attribute)):
            name = spelled(node)
            given = [
                each.value for each in ast.walk(self._tree) if isinstance(each, ast.Assign) and name in _held(each)
            ]
            return [key for value in given if not isinstance(value, ast.Name) for key in self._keys(value)]
        parts: list[Any] = []
        if isinstance(node, ast.Dict):
            parts = node.keys
        elif isinstance(node, (ast.List, ast.Tuple, ast.Set)):
            parts = node.elts
        return [part.value for part in parts if isinstance(part, ast.Constant)]

    def _count(self, node: ast.AST) -> None:
        target = node.targets[0] if isinstance(node, ast.Assign) else None
        if isinstance(target, (ast.Tuple, ast.List)):
            self._use.count = max(self._use.count, len(target.elts))


def _held(statement: ast.AST) -> list[str]:
    if isinstance(statement, ast.Assign):
        given = statement.targets
    elif isinstance(statement, (ast.AnnAssign, ast.NamedExpr)):
        given = [statement.target]
    else:
        return []
    return [
        name
        for target in given
        for each in (target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target])
        if (name := spelled(each))
    ]
