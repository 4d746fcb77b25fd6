"""Arrays in files that are not there: random numbers, as many columns as the user's code reads."""

from __future__ import annotations

import ast
import functools
import os
import re
from typing import TYPE_CHECKING, Any

from ..imports import after
from . import told
from .source import spelled, targets
from .stand_in import StandIn

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

ROWS, COLUMNS, PAIR = 2_000, 16, 2
SMALL = 64  # whole numbers stay below it, so that they are indices of any vocabulary
LABELS = ("label", "target", "class", "y_")
Y = re.compile(r"(^|_)y\d*$")
PACKED = (".npz", ".pkl", ".pickle")


class ArrayFiles(StandIn):
    """Makes up what `numpy.load`, `genfromtxt` and `loadtxt` would read."""

    replaces = "file not found"
    voids = (told.FILES, told.VALUES, told.SHAPES)
    installed_after = ("Files",)

    def prepare(self) -> None:
        """Patches numpy when it is imported."""
        after("numpy", self._patch)

    def _patch(self, module: ModuleType) -> None:
        numpy: Any = module
        for name in ("load", "genfromtxt", "loadtxt"):
            setattr(numpy, name, self._reading(getattr(numpy, name), numpy, text=name != "load"))

    def _reading(self, read: Any, numpy: Any, *, text: bool) -> Any:
        @functools.wraps(read)
        def reading(file: Any, *arguments: Any, **keywords: Any) -> Any:
            try:
                return read(file, *arguments, **keywords)
            except OSError:
                path = os.fspath(file) if isinstance(file, (str, os.PathLike)) else ""
                if not path or os.path.lexists(path) or self.sources.innermost() is None:
                    raise
                if self.learnt.form(path) is not None:  # it was no array
                    raise
                return self._made(
                    path, numpy, numpy.dtype(keywords.get("dtype", arguments[0] if text and arguments else float))
                )

        return reading

    def _made(self, path: str, numpy: Any, dtype: Any) -> Any:
        draw = numpy.random.default_rng(len(path))
        keys = list(dict.fromkeys(self._keys()))
        if path.endswith(PACKED) and keys:
            shape, counts = self.learnt.of("array", path), set(self._counts(keys))
            made = Archive(
                {key: numpy.array(SMALL) if key in counts else self._array(key, dtype, draw, shape) for key in keys}
            )
            rows = {"×".join(map(str, each.shape)) for each in made.values() if each.ndim > 1} if shape else ()
            of_shape = f" of shape {', '.join(rows)}" if rows else ""
            self.tell(path, f"{ROWS} synthetic rows for each of {', '.join(keys[:6])}{of_shape}")
            return made
        made = self._array(os.path.basename(path), dtype, draw, self.learnt.of("array", path))
        self.tell(path, f"random numbers {'×'.join(map(str, made.shape))}")
        return made

    def _array(self, name: str, dtype: Any, draw: Any, shape: Any = None) -> Any:
        """Classes by the name, else rows of numbers, of a `shape` where it is known; texts are whole numbers spelled out."""
        small = self.learnt.below(SMALL)
        if any(word in name.lower() for word in LABELS) or Y.search(name.lower()):
            return draw.integers(0, min(PAIR, small), shape[0] if shape and len(shape) > PAIR else shape or ROWS)
        if dtype.kind in "iu" or (self.learnt.whole() and dtype.kind == "f"):
            return draw.integers(0, small, shape or (ROWS, PAIR)).astype(dtype)
        if dtype.kind in "US":
            return draw.integers(0, small, shape or (ROWS, COLUMNS)).astype(dtype.kind)
        return draw.random(shape or (ROWS, COLUMNS)).astype(dtype if dtype.kind == "f" else float)

    def _keys(self) -> Iterator[str]:
        """The names by which the user's code takes what it reads apart."""
        frame = self.sources.innermost()
        statements = self.sources.statements(frame) if frame is not None else []
        names = set(targets(statements[0])) if statements else set()
        names |= {spelled(each.optional_vars) for each in _with(statements) if each.optional_vars is not None}
        for tree in self.sources.trees():
            for node in ast.walk(tree):
                taken = isinstance(node, ast.Subscript) and (
                    spelled(node.value) in names or (isinstance(node.value, ast.Call) and spelled(node.value) == "load")
                )
                if taken and isinstance(node, ast.Subscript):
                    key = node.slice
                    if isinstance(key, ast.Constant) and isinstance(key.value, str):
                        yield key.value

    def _counts(self, keys: list[str]) -> Iterator[str]:
        """Those of the names under which the user's code takes a single number."""
        for tree in self.sources.trees():
            for node in ast.walk(tree):
                if isinstance(node, ast.Call) and spelled(node) in ("int", "float") and len(node.args) == 1:
                    taken = node.args[0]
                elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "item":
                    taken = node.func.value
                else:
                    continue
                key = taken.slice if isinstance(taken, ast.Subscript) else None
                if isinstance(key, ast.Constant) and key.value in keys:
                    yield key.value


class Archive(dict[str, Any]):
    """What `numpy.load` gives of several arrays: it may be closed, and has their names in `files`."""

    @property
    def files(self) -> list[str]:
        """The names of the arrays."""
        return list(self)

    def close(self) -> None:
        """Nothing."""

    def __enter__(self) -> Archive:
        return self

    def __exit__(self, *_: object) -> None: ...


def _with(statements: list[ast.stmt]) -> list[ast.withitem]:
    """What the statements open."""
    return [item for each in statements if isinstance(each, ast.With) for item in each.items]
