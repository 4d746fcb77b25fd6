"""What pandas had: arrays of a column that could be written, and methods of tables."""

from __future__ import annotations

import ast
import functools
import warnings
from typing import TYPE_CHECKING, Any

from ... import imports
from .names import Removed

if TYPE_CHECKING:
    from types import FrameType, ModuleType

WRITING = 3
"""The first version whose tables share nothing that could be written."""
PLAIN = (ast.Name, ast.Attribute, ast.Constant, ast.Load)
"""The parts of an expression that does nothing."""


class PandasNames(Removed):
    """Arrays and methods that pandas had."""

    def prepare(self) -> None:
        """Patches the classes when the package is imported."""
        imports.after("pandas", self._patch)

    def _patch(self, module: ModuleType) -> None:
        pandas: Any = module
        if int(pandas.__version__.partition(".")[0]) >= WRITING and self.learnt and self.learnt.of("texts", "pandas"):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                pandas.options.future.infer_string = False
            self.was_used("columns of texts that hold Python's objects", "the same")
        for owner in (pandas.Series, pandas.DataFrame):
            if int(pandas.__version__.partition(".")[0]) >= WRITING:
                owner.values = property(self._written(owner.values.fget, f"{owner.__name__}.values"))
                owner.to_numpy = self._written(owner.to_numpy, f"{owner.__name__}.to_numpy()")
                owner.__setitem__ = self._chained(owner.__setitem__, pandas.DataFrame)
            if not hasattr(owner, "append"):
                owner.append = self._method("append", "pandas.concat", self._appended(pandas))
            if not hasattr(owner, "iteritems"):
                owner.iteritems = self._method("iteritems", "items", owner.items)

    def _written(self, values: Any, name: str) -> Any:
        """The array, which may be written where the user's code does, or once it did."""

        @functools.wraps(values)
        def of(table: Any, *arguments: Any, **keywords: Any) -> Any:
            found = values(table, *arguments, **keywords)
            flags = getattr(found, "flags", None)
            if flags is None or flags.writeable or not self.sources.called_by_user():
                return found
            if self._writes() or (self.learnt and self.learnt.of("writes", "pandas")):
                self.was_used(f"pandas.{name} that may be written", "the array of the table itself")
                flags.writeable = True
            return found

        return of

    def _writes(self) -> bool:
        """Whether the statement that runs assigns into the array."""
        target = self._target()
        value = target.value if isinstance(target, ast.Subscript) else None
        return isinstance(value, ast.Attribute) and value.attr == "values"

    def _chained(self, put: Any, whole: Any) -> Any:
        """What is put into a column that a statement reads of a table is in the table, too."""

        @functools.wraps(put)
        def written(column: Any, key: Any, value: Any) -> None:
            put(column, key, value)
            if not self.sources.called_by_user():
                return
            frame = self.sources.innermost()
            found = _column(self._target(), frame) if frame is not None else None
            if found is not None and isinstance(found[0], whole) and found[0] is not column:
                self.was_used(
                    "an assignment into a column of a table that pandas.DataFrame gave", "the same in the table"
                )
                found[0][found[1]] = column

        return written

    def _target(self) -> ast.expr | None:
        """What the statement that runs assigns to."""
        frame = self.sources.innermost()
        statement = next(iter(self.sources.statements(frame)), None) if frame is not None else None
        if isinstance(statement, ast.AugAssign):
            return statement.target
        return statement.targets[0] if isinstance(statement, ast.Assign) else None

    def _method(self, name: str, now: str, method: Any) -> Any:
        @functools.wraps(method)
        def called(table: Any, *arguments: Any, **keywords: Any) -> Any:
            self.was_used(f"pandas.{type(table).__name__}.{name}", now)
            return method(table, *arguments, **keywords)

        return called

    @staticmethod
    def _appended(pandas: Any) -> Any:
        def append(table: Any, other: Any, ignore_index: bool = False, **_: Any) -> Any:  # noqa: FBT001, FBT002 - as pandas had it
            others = list(other) if isinstance(other, (list, tuple)) else [other]
            if isinstance(table, pandas.DataFrame):
                others = [_row(pandas, each) for each in others]
            return pandas.concat([table, *others], ignore_index=ignore_index)

        return append


def _column(target: ast.expr | None, frame: FrameType) -> tuple[Any, Any] | None:
    """The table and the name in `table.name[…]` and `table["name"][…]`; None for anything else."""
    column = target.value if isinstance(target, ast.Subscript) else None
    if not isinstance(column, (ast.Attribute, ast.Subscript)):
        return None
    parts = [column.value, *([column.slice] if isinstance(column, ast.Subscript) else [])]
    if not all(isinstance(each, PLAIN) for part in parts for each in ast.walk(part)):
        return None
    values = [
        eval(compile(ast.Expression(part), "<column>", "eval"), frame.f_globals, frame.f_locals)  # noqa: S307 - names of the script's
        for part in parts
    ]
    return values[0], values[1] if len(values) > 1 else vars(column)["attr"]


def _row(pandas: Any, other: Any) -> Any:
    """A table of one row, of a dictionary or a series."""
    if isinstance(other, dict):
        return pandas.DataFrame([other])
    return other.to_frame().T if isinstance(other, pandas.Series) else other
