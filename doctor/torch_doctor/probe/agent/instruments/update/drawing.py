"""Calls in the script that draw random numbers."""

from __future__ import annotations

import ast
import random
import sys
from types import FunctionType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ...watching.watch import Watch

MISSING = object()


class Drawing:
    """Looks at what the names in a call stand for at the end of a run; of what has no name there, at the method's name alone."""

    def __init__(self, watch: Watch) -> None:
        self._torch = watch.torch
        self._trees = watch.recorder.index.trees()
        numpy = sys.modules.get("numpy.random")
        self._generators = (random.Random, *((numpy.Generator, numpy.RandomState) if numpy is not None else ()))
        others = {name for kind in (watch.torch.Tensor, str, list, dict, set) for name in dir(kind)}
        self._methods = {name for kind in self._generators for name in dir(kind) if name[0] != "_"} - others
        self._modules = {getattr(module, "__file__", None): module for module in list(sys.modules.values())}

    def draws(self, call: ast.Call, path: str, *, follow: bool = True) -> bool:
        """Whether a call in a file draws: of a generator's method, an operator of torch's, or a function that does."""
        called = self._meant(call.func, path)
        name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
        if called is MISSING:
            return name in self._methods or self._takes_generator(name)
        if isinstance(getattr(called, "__self__", None), self._generators):
            return True
        named = getattr(called, "__name__", "")
        if called is getattr(self._torch, named, MISSING):
            return self._takes_generator(named)
        return follow and isinstance(called, FunctionType) and self._contains(called)

    def _meant(self, node: ast.expr, path: str) -> Any:
        """What a name, or an attribute of one, stands for in a file."""
        if isinstance(node, ast.Name):
            return getattr(self._modules.get(path), node.id, MISSING)
        if isinstance(node, ast.Attribute):
            owner = self._meant(node.value, path)
            known = owner is self._torch or isinstance(owner, (type(sys), *self._generators))
            return getattr(owner, node.attr, MISSING) if known else MISSING
        return MISSING

    def _contains(self, function: FunctionType) -> bool:
        """Whether a function of the script's has such a call in it."""
        path = function.__code__.co_filename
        return any(
            isinstance(inner, ast.Call) and self.draws(inner, path, follow=False)
            for node in ast.walk(self._trees.get(path, ast.Module([], [])))
            if isinstance(node, ast.FunctionDef) and node.name == function.__name__
            for inner in ast.walk(node)
        )

    def _takes_generator(self, name: str) -> bool:
        """Whether torch has an operator of this name that takes a generator."""
        schemas = self._torch._C._jit_get_schemas_for_operator(f"aten::{name}") if name else ()
        return any("Generator" in str(each.type) for schema in schemas for each in schema.arguments)
