"""The functions with a training loop that nothing has called: they are called with placeholders, one after the other."""

from __future__ import annotations

import ast
import inspect
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from ...rehearsal import rehearsals
from ..source import spelled
from ..unknown.roles import MODULE, OF_OPTIMIZERS, Uses, uses_in
from .content import Unread

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import ModuleType

    from ..batches.parts import Part
    from ..source import Sources
    from .acting import Acting

LOOPS = (ast.For, ast.While)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


class Found(NamedTuple):
    """A function, the file that it is in, and the class that it is a method of."""

    path: str
    owner: str
    function: ast.FunctionDef


class Directly:
    """Calls them until one has `trained`; `root` gives what is known of a placeholder by its name."""

    def __init__(
        self, sources: Sources, acting: Acting, root: Callable[[str], Part], trained: Callable[[], bool]
    ) -> None:
        self._sources = sources
        self._acting = acting
        self._root = root
        self._trained = trained

    def call(self) -> Found | None:
        """The first that has trained; None where none has."""
        for module in self._modules():
            path: str = module.__file__  # type: ignore[assignment]  # `_modules`
            tree = self._sources.tree(path)
            if tree is None:
                continue
            for owner, function in _training(tree):
                try:
                    self._called(module, owner, function, tree)
                except (Exception, SystemExit):  # whatever the script's functions raise
                    if rehearsals.under_way:
                        raise
                if self._trained():
                    return Found(path, owner, function)
                if rehearsals.under_way:
                    return None
        return None

    def _modules(self) -> Iterator[ModuleType]:
        """The user's modules that are loaded, the script first."""
        script = sys.modules["__main__"]
        yield script
        for module in list(sys.modules.values()):
            path = getattr(module, "__file__", None)
            if module is not script and isinstance(path, str) and path.endswith(".py") and self._sources.is_users(path):
                yield module

    def _called(self, module: ModuleType, owner: str, function: ast.FunctionDef, tree: ast.Module) -> None:
        holder: Any = module
        if owner:
            kind = getattr(module, owner)
            built = next((each for each in _methods(tree, owner) if each.name == "__init__"), None)
            holder = kind(**self._arguments(kind, built, tree))
        called = getattr(holder, function.name)
        if not inspect.isgeneratorfunction(called) and not inspect.iscoroutinefunction(called):
            called(**self._arguments(called, function, tree))

    def _arguments(self, called: Any, function: ast.FunctionDef | None, tree: ast.Module) -> dict[str, Any]:
        """Placeholders for the parameters without a value of their own; the models first, which the optimizers need."""
        names = [
            each.name
            for each in inspect.signature(called).parameters.values()
            if each.default is each.empty and each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY)
        ]
        if function is None:  # that of a library's class
            return {name: Unread(self._root(f"{called.__qualname__}({name})")) for name in names}
        uses = {name: uses_in(self._sources, tree, function, name) for name in names}
        models = [name for name in names if _is_model(uses[name])]
        made = {name: self._acting.module(name) for name in models}
        for name in names:
            if name not in models:
                of_optimizers = bool(uses[name].methods & OF_OPTIMIZERS)
                made[name] = (
                    self._acting.optimizer([made[each] for each in models])
                    if of_optimizers and models
                    else Unread(self._root(f"{called.__qualname__}({name})"))
                )
        return made


def _is_model(uses: Uses) -> bool:
    """Whether a parameter is a model: what is called alone may be a loss."""
    return (
        uses.role == MODULE
        and not uses.methods & {"step"}
        and bool(uses.methods & {"parameters", "train", "eval", "state_dict"})
    )


def _training(tree: ast.Module) -> list[tuple[str, ast.FunctionDef]]:
    """The functions whose loop goes backward, or calls one that does, each with the class that it is a method of."""
    steps = {each.name for each in ast.walk(tree) if isinstance(each, FUNCTIONS) and _goes_backward(each, frozenset())}
    found = []
    for node in tree.body:
        inner = [(node.name, each) for each in node.body] if isinstance(node, ast.ClassDef) else [("", node)]
        for owner, each in inner:
            if isinstance(each, ast.FunctionDef) and any(
                _goes_backward(loop, steps) for loop in ast.walk(each) if isinstance(loop, LOOPS)
            ):
                found.append((owner, each))
    return sorted(found, key=lambda each: not _goes_backward(each[1], frozenset()))


def _methods(tree: ast.Module, owner: str) -> list[ast.FunctionDef]:
    return [
        each
        for node in tree.body
        if isinstance(node, ast.ClassDef) and node.name == owner
        for each in node.body
        if isinstance(each, ast.FunctionDef)
    ]


def _goes_backward(node: ast.AST, steps: frozenset[str] | set[str]) -> bool:
    return any(
        isinstance(each, ast.Call) and (spelled(each) in steps or getattr(each.func, "attr", "") == "backward")
        for each in ast.walk(node)
    )
