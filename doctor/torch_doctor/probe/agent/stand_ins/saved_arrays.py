"""Arrays and tensors that a script has saved with `torch.save` in an earlier step, where that was not run."""

from __future__ import annotations

import ast
import functools
import os
from typing import TYPE_CHECKING, Any

from . import told
from .arrays import COLUMNS, ROWS
from .source import spelled, targets
from .stand_in import StandIn

if TYPE_CHECKING:
    from .source import Sources

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


class SavedArrays(StandIn):
    """Makes up what `torch.load` would read, where the code that reads it takes it for one array."""

    replaces = "file not found"
    voids = (told.FILES, told.VALUES, told.SHAPES, told.TYPES)

    def with_torch(self, torch: Any) -> None:
        """Patches `torch.load`."""
        load = torch.load

        @functools.wraps(load)
        def read(f: Any, *arguments: Any, **keywords: Any) -> Any:
            try:
                return load(f, *arguments, **keywords)
            except FileNotFoundError:
                kind = _kind(self.sources) if isinstance(f, (str, os.PathLike)) else ""
                if not kind:
                    raise
                path = os.fspath(f)
                shape = self.learnt.of("array", path) or (ROWS, COLUMNS)
                made = torch.rand(*shape, generator=torch.Generator().manual_seed(len(path)))
                self.tell(path, f"random numbers {'×'.join(map(str, shape))}")
                return made.double().numpy() if kind == "array" else made

        torch.load = read


def _kind(sources: Sources) -> str:
    """Whether the function that runs takes what the statement reads for an array, or slices it like a tensor."""
    frame = sources.innermost()
    around = sources.statements(frame) if frame is not None else []
    names = targets(around[0]) if around else []
    if frame is None or len(names) != 1 or spelled(getattr(around[0], "value", around[0])) != "load":
        return ""
    inside = next((each for each in around if isinstance(each, FUNCTIONS)), sources.tree(frame.f_code.co_filename))
    found = ""
    for node in ast.walk(inside) if inside is not None else ():
        if isinstance(node, ast.Call) and spelled(node) == "from_numpy" and node.args and _held(node.args[0]) in names:
            return "array"
        if isinstance(node, ast.Subscript) and _held(node) in names and _is_sliced(node):
            found = "tensor"
    return found


def _held(node: ast.expr) -> str:
    """The name of which an expression takes a part, or all."""
    while isinstance(node, ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _is_sliced(node: ast.Subscript) -> bool:
    """Whether a part is taken by rows and columns, as of no list or dictionary."""
    return isinstance(node.slice, ast.Tuple) and any(isinstance(each, ast.Slice) for each in node.slice.elts)
