"""Lists of layers that hold one module several times."""

from __future__ import annotations

import ast
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from ...nodes import span_of
from ..naming import class_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...nodes import File
    from ...scopes import Here
    from ..watch import Watch


class Repeating(NamedTuple):
    """An expression that puts one thing into a list several times; `chosen`: it is one arm of a branch with another."""

    node: ast.expr
    element: ast.expr
    chosen: bool


class Watcher:
    """Is told of each module that holds others, and looks for the expression where one is held several times."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._recorder = watch.recorder

    def install(self) -> None:
        """Nothing: the watcher of modules asks."""

    def tell(self, owner: Any, here: Here) -> None:
        """Writes the modules that an owner holds several times, where the source shows a list of that one."""
        nn = self._watch.torch.nn
        listed = isinstance(owner, (nn.Sequential, nn.ModuleList))
        if not listed or len(set(map(id, owner._modules.values()))) == len(owner._modules):
            return
        site = self._watch.modules.birthplace(owner)
        span = self._recorder.span(site) if site is not None else None
        file = self._recorder.index.file(span.path) if span is not None else None
        held = Counter(id(child) for child in owner._modules.values() if child is not None)
        for child in {id(child): child for child in owner._modules.values()}.values():
            parameters = list(child.parameters()) if child is not None else []
            if file is None or span is None or not parameters or held[id(child)] == 1:
                continue
            found = _repeating(file, span.row, span.end_row)
            if found is not None:
                self._recorder.event(
                    "Repeated",
                    here,
                    site=self._recorder.sites.number(span_of(file.path, found.node)),
                    module=self._recorder.references.number(child),
                    class_name=class_name(type(child), self._recorder),
                    name=file.spelled(found.element),
                    times=held[id(child)],
                    trainable=any(each.requires_grad for each in parameters),
                    built_at=self._watch.modules.birthplace(child),
                    registered_at=site,
                    chosen=found.chosen,
                    elements=sum(each.numel() for each in parameters),
                )


def _repeating(file: File, row: int, end_row: int) -> Repeating | None:
    """The expression in these rows, or else the only one of the function around them."""
    try:
        tree = ast.parse(file.text)
    except (SyntaxError, ValueError, RecursionError):
        return None
    around: ast.AST = tree
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.lineno <= row <= (node.end_lineno or 0):
            around = node  # the walk goes from the outside in
    lists = frozenset(
        target.id
        for node in ast.walk(around)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.List)
        for target in node.targets
        if isinstance(target, ast.Name)
    )
    found = list(_expressions(around, lists, chosen=False))
    near = [each for each in found if row <= each.node.lineno <= end_row]
    alone = len(found) == 1 and around is not tree
    return (near or found)[0] if near or alone else None


def _expressions(node: ast.AST, lists: frozenset[str], *, chosen: bool) -> Iterator[Repeating]:
    element = _element(node, lists)
    if element is not None:
        yield Repeating(node, element, chosen)  # type: ignore[arg-type]  # only expressions have an element
    inner = chosen or isinstance(node, ast.IfExp) or (isinstance(node, ast.If) and bool(node.orelse))
    for child in ast.iter_child_nodes(node):
        yield from _expressions(child, lists, chosen=inner)


def _element(node: ast.AST, lists: frozenset[str]) -> ast.expr | None:
    """What `[element] * n`, `lists * n` or `[element for _ in range(n)]` repeats; None for any other node."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        for side in (node.left, node.right):
            if isinstance(side, ast.Name) and side.id in lists:
                return side
        listed = node.left if isinstance(node.left, ast.List) else node.right
        return listed.elts[0] if isinstance(listed, ast.List) and listed.elts else None
    if isinstance(node, (ast.ListComp, ast.GeneratorExp)):
        names = {
            each.id for clause in node.generators for each in ast.walk(clause.target) if isinstance(each, ast.Name)
        }
        root = node.elt
        while isinstance(root, ast.Attribute):
            root = root.value
        return node.elt if isinstance(root, ast.Name) and root.id not in names else None
    return None
