"""What the callers of a function that was called with placeholders might do between its lines, or have others do."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from ..source import MOST_FILES, spelled

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ..source import Sources
    from .directly import Found
    from .interposing import Interposing

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
TESTS = (ast.If, ast.IfExp, ast.While)
IMPLICIT = frozenset("forward __call__ __iter__ __next__ __getitem__ __len__ __enter__ __exit__ __getattr__".split())
"""Methods that a loop runs without their names; generators are run so, too."""
Place = tuple[str, int]


class Callers:
    """Looks through the project for what would run between the lines of a function that a caller calls."""

    def __init__(self, sources: Sources, interposing: Interposing) -> None:
        self._sources = sources
        self._interposing = interposing

    def might(self, torch: Any, found: Found) -> Place | None:
        """A place that may change what the function does; None where there is none."""
        trees: dict[str, ast.Module] = {}
        for path, tree in self._sources.files(self._sources.project):
            trees[path] = tree
            for node in ast.walk(tree):
                if self._interposing.is_one(torch, node) or _clears(node):
                    return path, getattr(node, "lineno", 1)
        if len(trees) >= MOST_FILES:
            return found.path, found.function.lineno  # nobody has looked through the others
        return next(self._places(torch, found, trees), None)

    def _places(self, torch: Any, found: Found, trees: dict[str, ast.Module]) -> Iterator[Place]:
        """Classes that inherit from that of a method, methods for these, calls back, switches, and what is replaced."""
        classes = [
            (path, node) for path, tree in trees.items() for node in ast.walk(tree) if isinstance(node, ast.ClassDef)
        ]
        above, files = set(_above(found.owner, [kind for _, kind in classes])), {found.path}
        for path, kind in classes:
            if found.owner in map(spelled, kind.bases):
                yield path, kind.lineno
            if kind.name in above:
                files.add(path)
                yield from ((path, each.lineno) for each in kind.body if _is_empty(each))
        methods = self._interposing.methods(torch)
        for path in files:
            for node in ast.walk(trees[path]):
                if isinstance(node, (ast.For, ast.Expr)) and _calls_back(node, methods):
                    yield path, node.lineno
        yield from _switches(found.function, trees)
        tops = {name for each in trees[found.path].body for name in _named_by(each)}
        for path, tree in trees.items():
            if path != found.path:
                yield from ((path, row) for row in _replaced(tree, tops))


def _switches(function: ast.FunctionDef, trees: dict[str, ast.Module]) -> Iterator[Place]:
    """Where code that the function does not run gives a value to what is tested in code that it runs."""
    named: dict[str, list[ast.AST]] = {}
    for node in (node for tree in trees.values() for node in ast.walk(tree)):
        if isinstance(node, FUNCTIONS):
            named.setdefault(node.name, []).append(node)
    run, waiting, tested = {"__init__"}, [function.name], set[str]()
    while waiting:
        run.add(name := waiting.pop())
        inside = [node for each in named.get(name, ()) for node in ast.walk(each)]
        for node in inside:
            if isinstance(node, TESTS):
                tested |= {spelled(each) for each in ast.walk(node.test)}
        waiting += ({spelled(node) for node in inside} & named.keys()) - run - {*waiting}
    for path, tree in trees.items():
        outside: list[ast.AST] = [tree]
        while outside:
            node = outside.pop()
            stored = isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and node.attr in tested
            if stored or (isinstance(node, ast.Global) and tested & {*node.names}):
                yield path, node.lineno  # type: ignore[attr-defined]  # an expression or a statement
            if not (isinstance(node, FUNCTIONS) and node.name in run):
                outside += ast.iter_child_nodes(node)


def _above(owner: str, kinds: Iterable[ast.ClassDef]) -> Iterator[str]:
    """A class, and those that it inherits from, by their names."""
    by_name = {kind.name: kind for kind in kinds}
    waiting, seen = [owner], set[str]()
    while waiting:
        name = waiting.pop()
        if name in seen or name not in by_name:
            continue
        seen.add(name)
        yield name
        waiting += [spelled(base) for base in by_name[name].bases]


def _is_empty(statement: ast.stmt) -> bool:
    """Whether it is a method that does nothing, for classes that inherit it."""
    return isinstance(statement, FUNCTIONS) and all(map(_is_nothing, statement.body))


def _is_nothing(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Return):
        return statement.value is None or isinstance(statement.value, (ast.Constant, ast.Name))
    constant = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    return constant or isinstance(statement, (ast.Pass, ast.Raise))


def _clears(node: ast.AST) -> bool:
    """Whether it is a function that clears gradients and is run by a loop that does not name it."""
    if not isinstance(node, FUNCTIONS):
        return False
    inside = list(ast.walk(node))
    implicit = node.name in IMPLICIT or any(isinstance(each, (ast.Yield, ast.YieldFrom)) for each in inside)
    return implicit and any(
        isinstance(each, ast.Attribute)
        and (each.attr == "zero_grad" or (each.attr == "grad" and isinstance(each.ctx, ast.Store)))
        for each in inside
    )


def _calls_back(node: ast.For | ast.Expr, methods: frozenset[str]) -> bool:
    """Whether it is a loop that calls what it goes through, or methods of it that are none of torch's, for what they do."""
    if isinstance(node, ast.For):
        names = {each.id for each in ast.walk(node.target) if isinstance(each, ast.Name)}
        inside = [each.value for part in node.body for each in ast.walk(part) if isinstance(each, ast.Expr)]
    elif isinstance(node.value, (ast.ListComp, ast.GeneratorExp)):
        names = {
            each.id for part in node.value.generators for each in ast.walk(part.target) if isinstance(each, ast.Name)
        }
        inside = [node.value.elt]
    else:
        return False
    calls = [each for each in inside if isinstance(each, ast.Call)]
    return any(_called(each) in names and spelled(each) not in methods for each in calls)


def _called(call: ast.Call) -> str:
    """The name of which a call calls the value, or a method: `hook` of `hook.after()` and `getattr(hook, name)()`."""
    function = call.func
    while isinstance(function, (ast.Attribute, ast.Subscript)):
        function = function.value
    if isinstance(function, ast.Call) and spelled(function) == "getattr" and function.args:
        function = function.args[0]
    return function.id if isinstance(function, ast.Name) else ""


def _named_by(statement: ast.stmt) -> Iterator[str]:
    """The names that a statement of a module gives a value."""
    if isinstance(statement, (*FUNCTIONS, ast.ClassDef)):
        yield statement.name
        return
    yield from (
        each.id for each in ast.walk(statement) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)
    )


def _replaced(tree: ast.Module, names: set[str]) -> Iterator[int]:
    """The lines in which a file gives one of these names, of what it has imported, another value."""
    imports = (each for each in ast.walk(tree) if isinstance(each, (ast.Import, ast.ImportFrom)))
    imported = {each.asname or each.name.partition(".")[0] for part in imports for each in part.names}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and node.attr in names:
            root: ast.expr = node.value
            while isinstance(root, ast.Attribute):
                root = root.value
            if isinstance(root, ast.Name) and root.id in imported:
                yield node.lineno
