"""What a statement that was left out might have put between two lines of the loop: hooks, and other methods of torch's."""

from __future__ import annotations

import ast
import re
import sys
from typing import TYPE_CHECKING, Any

from ...rewriting.guarding import BLOCKS, may_fail
from ..source import AGENT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType, TracebackType

    from ..source import Sources

HOOKS = re.compile("^_?register_.*hook$")
UNSEEN = frozenset(
    ("setattr", "__setattr__", "__class__", "__dict__", "vars", "globals", "exec", "eval", "compile", "patch")
)
"""Names by which code changes what it does not name."""
WATCHERS = frozenset(
    ("setprofile", "settrace", "get_objects", "__enter__", "enter_context", "import_module", "__import__")
)
"""Names by which code is run in between, or finds what it is not given, or other code is run once."""

READING = frozenset(
    ("torch", "torchvision", "torchaudio", "torchtext", "datasets", "transformers", "timm", "safetensors")
)
"""Packages that know torch and change nothing of it where they fail to read data or weights."""


class Interposing:
    """Looks through the code that a failure kept from running, and what that calls."""

    def __init__(self, sources: Sources) -> None:
        self._sources = sources
        self._methods: frozenset[str] | None = None

    def might(self, torch: Any, error: BaseException, asking: FrameType) -> bool:
        """Whether the statement that failed in the frame that asks might have done that."""
        if self.fails_elsewhere(torch, error.__traceback__, asking):
            return True
        waiting = [*self._left(asking), *self._below(error.__traceback__, asking)]
        known, seen = self._definitions(), set[str]()
        while waiting:
            for node in ast.walk(waiting.pop()):
                name = _named(node)
                if _imports_more(node) or self.is_one(torch, node):
                    return True
                if name not in seen:
                    seen.add(name)
                    waiting += known.get(name, ())
        return False

    def _left(self, frame: FrameType) -> Iterator[ast.AST]:
        """What is left out in the frame that asks: the statement, or a block around it."""
        for number, each in enumerate(self._sources.statements(frame)):
            if number and not (isinstance(each, BLOCKS) and may_fail(each)):
                return
            yield each

    def _below(self, trace: TracebackType | None, asking: FrameType) -> Iterator[ast.AST]:
        """What ran when it failed, below the frame that asks: all of each function, or of each file that is imported."""
        inside = False
        while trace is not None:
            code = trace.tb_frame.f_code
            tree = self._sources.tree(code.co_filename) if self._sources.is_users(code.co_filename) else None
            if inside and tree is not None:
                own = [each for each in ast.walk(tree) if getattr(each, "name", "") == code.co_name]
                yield from own or [tree]
            inside = inside or trace.tb_frame is asking
            trace = trace.tb_next

    def fails_elsewhere(self, torch: Any, trace: TracebackType | None, asking: FrameType) -> bool:
        """Whether it failed in a package of somebody else's that knows torch, and might have changed anything of it."""
        inside = False
        while trace is not None:
            frame = trace.tb_frame
            top = str(frame.f_globals.get("__name__")).partition(".")[0]
            path = frame.f_code.co_filename
            foreign = inside and not self._sources.is_users(path) and not path.startswith(AGENT) and top not in READING
            if foreign and any(
                value is torch
                for name, module in [*sys.modules.items()]
                if name.partition(".")[0] == top
                for value in [*getattr(module, "__dict__", {}).values()]
            ):
                return True
            inside = inside or frame is asking
            trace = trace.tb_next
        return False

    def _definitions(self) -> dict[str, list[ast.AST]]:
        """The functions and classes of the user's, by name."""
        found: dict[str, list[ast.AST]] = {}
        for tree in self._sources.trees():
            for node in ast.walk(tree):
                if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                    found.setdefault(node.name, []).append(node)
        return found

    def methods(self, torch: Any) -> frozenset[str]:
        """The names of what can be called of what torch's loops consist of."""
        self._methods = self._methods or _methods(torch)
        return self._methods

    def is_one(self, torch: Any, node: ast.AST) -> bool:
        """Whether code does that here."""
        name = _named(node)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            return name in self.methods(torch)
        return name in UNSEEN or name in WATCHERS or HOOKS.match(name) is not None


def _imports_more(node: ast.AST) -> bool:
    """Whether it imports a module that nobody has imported, which may do anything."""
    names = [each.name for each in node.names] if isinstance(node, ast.Import) else []
    if isinstance(node, ast.ImportFrom):
        names = [node.module or ""]
    return any(name not in sys.modules for name in names)


def _named(node: ast.AST) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _methods(torch: Any) -> frozenset[str]:
    owners = (torch.nn.Module, torch.optim.Optimizer, torch.Tensor, torch.nn.functional, torch.utils.data.DataLoader)
    names = {name for owner in owners for name in dir(owner) if callable(getattr(owner, name, None))}
    return frozenset(names | {"forward", "step", "collate_fn"})
