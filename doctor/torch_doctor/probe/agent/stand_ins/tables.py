"""Tables that are not there: their columns are those that the user's code reads."""

from __future__ import annotations

import ast
import functools
import os
import random
from typing import TYPE_CHECKING, Any

from . import told
from .source import spelled, targets

if TYPE_CHECKING:
    from types import ModuleType

    from .source import Sources
    from .told import Teller

ROWS = 512
SMALL = 64  # whole numbers stay below it
LABELS = (
    "label",
    "target",
    "class",
    "category",
    "sentiment",
    "species",
    "diagnosis",
    "survived",
    "quality",
    "outcome",
    "y",
)
TEXTS = (
    "text",
    "sentence",
    "review",
    "title",
    "tweet",
    "question",
    "comment",
    "content",
    "headline",
    "message",
    "caption",
)
WHOLE = (
    "id ids idx index user users item items movie year age count counts number num code zip day month hour week rank "
    "rating ratings fold cluster node src dst source edge"
).split()
"""Words in the names of columns of whole numbers."""
PICTURES = ("image", "img", "file", "path", "filename", "picture", "photo")
WORDS = "the a good bad small big film story is was never always ends begins well badly".split()


class Tables:
    """Makes up tables for `pandas.read_csv` and its like, and for the csv files that are opened."""

    def __init__(self, sources: Sources, teller: Teller) -> None:
        self._sources = sources
        self._teller = teller

    def patch(self, module: ModuleType) -> None:
        """Patches the readers of pandas."""
        pandas: Any = module
        for name in (
            "read_csv",
            "read_table",
            "read_excel",
            "read_json",
            "read_parquet",
            "read_pickle",
            "read_feather",
        ):
            setattr(pandas, name, self._reading(getattr(pandas, name), pandas))

    def _reading(self, read: Any, pandas: Any) -> Any:
        @functools.wraps(read)
        def reading(path: Any, *arguments: Any, **keywords: Any) -> Any:
            missing = isinstance(path, (str, os.PathLike)) and not os.path.lexists(path)
            if not missing or not self._sources.called_by_user():
                return read(path, *arguments, **keywords)
            columns = self._columns(pandas, keywords)
            table = growing(pandas)({name: _values(str(name)) for name in columns}, index=range(ROWS))
            table = _of_type(table, keywords.get("dtype"))
            index = keywords.get("index_col")
            if index is not None and index is not False:
                table = table.set_index(table.columns[index] if isinstance(index, int) else index)
            how = f"{ROWS} made-up rows of the columns that are read ({', '.join(map(str, columns[:6]))}{'…' * (len(columns) > 6)})"  # noqa: PLR2004
            self._teller.stand_in(os.fspath(path), "a table that is not there", how, [told.FILES, told.VALUES])
            return table

        return reading

    def text(self, between: str) -> tuple[str, str] | None:
        """The text of a csv file and what it is; None where no column is known."""
        columns = self._columns(None, {})
        if not columns:
            return None
        rows = zip(*(_values(str(name)) for name in columns), strict=True)
        lines = [between.join(map(str, columns)), *(between.join(map(str, row)) for row in rows)]
        shown = ", ".join(map(str, columns[:6]))
        return "\n".join(lines) + "\n", f"{ROWS} made-up rows of the columns that are read ({shown})"

    def _columns(self, pandas: Any, keywords: dict[str, Any]) -> list[Any]:
        """The columns that the user's code names of what is being read."""
        for given in (keywords.get("names"), keywords.get("usecols")):
            if isinstance(given, (list, tuple)):
                return list(given)
        frame = self._sources.innermost()
        statements = self._sources.statements(frame) if frame is not None else []
        names = set(targets(statements[0])) if statements else set()
        found: dict[Any, None] = {}
        width = 0
        for tree in self._sources.trees():
            for node in ast.walk(tree):
                for column in _named(node, names, pandas):
                    found.setdefault(column)
                width = max(width, _furthest(node))
        if keywords.get("header", "infer") is None:
            return list(range(max(width, 10)))
        columns = list(found)
        features = [f"feature {number}" for number in range(max(0, width - len(columns)))] if width else []
        return [*features, *columns]


@functools.cache
def growing(pandas: Any) -> Any:
    """A table that makes up a column when it is first asked for by its name."""

    class Table(pandas.DataFrame):  # type: ignore[misc]
        @property
        def _constructor(self) -> Any:
            return Table

        def __getitem__(self, key: Any) -> Any:
            wanted = [key] if isinstance(key, str) else key if isinstance(key, list) else []
            for name in wanted:
                if isinstance(name, str) and name not in self.columns:
                    self[name] = _values(name)[: len(self)]
            return super().__getitem__(key)

    Table.__name__ = Table.__qualname__ = "DataFrame"
    return Table


def _of_type(table: Any, wanted: Any) -> Any:
    """The table with its columns of the types that were asked for, by name or by place; as it is where they cannot be."""
    if wanted is None:
        return table
    by_column = wanted if isinstance(wanted, dict) else dict.fromkeys(table.columns, wanted)
    for column, kind in by_column.items():
        name = table.columns[column] if isinstance(column, int) and column not in table.columns else column
        if name not in table.columns:
            continue
        try:
            values = table[name]
            table[name] = (values.abs() * SMALL).astype(kind) if values.dtype.kind == "f" else values.astype(kind)
        except (TypeError, ValueError):
            continue
    return table


def _named(node: ast.AST, tables: set[str], pandas: Any) -> list[str]:
    """The columns that one expression names: `df["a"]`, `df[["a", "b"]]`, `df.a`, `df.drop("a")`."""
    if isinstance(node, ast.Subscript) and (spelled(node.value) in tables or spelled(node.value) in ("row", "loc")):
        return [
            each.value
            for each in ast.walk(node.slice)
            if isinstance(each, ast.Constant) and isinstance(each.value, str)
        ]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("drop", "pop", "get"):
        if spelled(node.func.value) in tables:
            values = [*node.args, *(each.value for each in node.keywords if each.arg in ("columns", "labels"))]
            parts = [each for value in values for each in ast.walk(value)]
            return [each.value for each in parts if isinstance(each, ast.Constant) and isinstance(each.value, str)]
    elif isinstance(node, ast.Attribute) and spelled(node.value) in tables and pandas is not None:
        return [] if hasattr(pandas.DataFrame, node.attr) else [node.attr]
    return []


def _furthest(node: ast.AST) -> int:
    """How many columns a place such as `df.iloc[:, 1:9]` needs."""
    if not (isinstance(node, ast.Subscript) and isinstance(node.value, ast.Attribute) and node.value.attr == "iloc"):
        return 0
    place = node.slice.elts[-1] if isinstance(node.slice, ast.Tuple) and len(node.slice.elts) == 2 else None  # noqa: PLR2004
    numbers = [each.value for each in ast.walk(place) if isinstance(each, ast.Constant)] if place is not None else []
    whole = [abs(each) + 1 for each in numbers if isinstance(each, int)]
    return max(whole, default=0)


def _values(name: str) -> list[Any]:
    """Values for a column of this name."""
    draw = random.Random(name)  # noqa: S311 - made-up values
    words = name.lower().replace("-", "_").split("_")
    if any(word in PICTURES for word in words):
        return [f"{number:04}.jpg" for number in range(ROWS)]
    if any(word in TEXTS for word in words):
        return [" ".join(draw.choices(WORDS, k=8)) for _ in range(ROWS)]
    if any(word in LABELS for word in words):
        return [number % 2 for number in range(ROWS)]
    if any(word in WHOLE for word in words) or any(word.endswith(("id", "ids")) for word in words):
        return [draw.randrange(SMALL) for _ in range(ROWS)]
    return [round(draw.gauss(0, 1), 4) for _ in range(ROWS)]
