"""Tables that are not there: their columns are those that the user's code reads."""

from __future__ import annotations

import ast
import functools
import os
import random
from typing import TYPE_CHECKING, Any

from . import told
from .column_uses import has_few, values_named
from .source import spelled, targets
from .table_values import KINDS, ROWS, SMALL, all_dates, values_of

if TYPE_CHECKING:
    from types import ModuleType

    from .learnt import Learnt
    from .source import Sources
    from .told import Teller

CLASSES = 3  # in a column of which nothing is known but that there are few
FAR = 2  # times as many rows of a table that are too many
WIDE = 4  # columns of a table of which no name is known
NAMING = frozenset("drop pop get set_index sort_values groupby dropna drop_duplicates rename astype filter".split())
"""Methods of a table whose arguments name columns."""
GROWING = ("drop", "set_index", "sort_values", "groupby", "filter")
KEYWORDS = frozenset({"columns", "labels", "by", "keys", "subset", "dtype"})
READERS = "read_csv read_table read_excel read_json read_parquet read_pickle read_feather".split()


class Tables:
    """Makes up tables for `pandas.read_csv` and its like, and for the csv files that are opened."""

    def __init__(self, sources: Sources, teller: Teller, learnt: Learnt) -> None:
        self._sources = sources
        self._teller = teller
        self._learnt = learnt

    def patch(self, module: ModuleType) -> None:
        """Patches the readers of pandas."""
        pandas: Any = module
        for name in READERS:
            setattr(pandas, name, self._reading(getattr(pandas, name), pandas))

    def _reading(self, read: Any, pandas: Any) -> Any:
        @functools.wraps(read)
        def reading(path: Any, *arguments: Any, **keywords: Any) -> Any:
            missing = isinstance(path, (str, os.PathLike)) and not os.path.lexists(path)
            if not missing or not self._sources.called_by_user():
                return self._fewer(read(path, *arguments, **keywords), path, pandas)
            self._learn(os.fspath(path))
            learnt = self._learnt.of("columns", os.fspath(path)) or ()
            columns = list(dict.fromkeys([*self._columns(pandas, keywords), *learnt]))
            table = growing(pandas)({name: self.drawn(str(name)) for name in columns}, index=range(ROWS))
            table = _of_type(table, keywords.get("dtype"))
            dates = keywords.get("parse_dates")
            for name in _listed(dates) if dates is not True else ():
                if (column := _place(table, name)) is not None:
                    table[column] = pandas.to_datetime(all_dates())
            table = _indexed(table, keywords.get("index_col"), keywords.get("names"))
            if dates is True:
                table.index = pandas.to_datetime(all_dates())
            names = f"{', '.join(map(str, columns[:6]))}{'…' * (len(columns) > 6)}"  # noqa: PLR2004
            how = f"{ROWS} synthetic rows with the columns read by the script ({names})"
            self._teller.stand_in(os.fspath(path), "table not found", how, [told.FILES, told.VALUES, told.TYPES])
            return table

        return reading

    def _fewer(self, table: Any, path: Any, pandas: Any) -> Any:
        """A table that is there, or of its rows some where there was no time to prepare them all."""
        if not self._learnt or "time" not in self._learnt.kinds() or not isinstance(table, pandas.DataFrame):
            return table
        step = len(table) // ROWS
        if step < FAR or not self._sources.called_by_user() or not self._learnt.of("time"):
            return table
        how = f"each {step}th of them"
        self._teller.stand_in(f"{len(table)} rows of {path}", "too slow on the CPU", how, [told.VALUES])
        return table.iloc[::step].reset_index(drop=True) if _counts(table, pandas) else table.iloc[::step]

    def _learn(self, path: str) -> None:
        """Has the columns of a table hold what an earlier attempt has learnt."""
        for kinds in self._learnt.all("kinds", path) if self._learnt else ():
            KINDS.update({name: kind for name, kind in kinds.items() if name not in KINDS})

    def text(self, between: str, path: str) -> tuple[str, str] | None:
        """The text of a csv file and what it is; None where no column is known."""
        self._learn(path)
        columns = list(dict.fromkeys([*self._columns(None, {}), *(self._learnt.of("columns", path) or ())]))
        if not columns and self._learnt.form(path) is not None:
            columns = [f"feature {number}" for number in range(WIDE)]
        if not columns:
            return None
        rows = zip(*(self.drawn(str(name)) for name in columns), strict=True)
        lines = [between.join(map(str, columns)), *(between.join(map(str, row)) for row in rows)]
        shown = ", ".join(map(str, columns[:6]))
        return "\n".join(lines) + "\n", f"{ROWS} synthetic rows with the columns read by the script ({shown})"

    def drawn(self, name: str) -> list[Any]:
        """Values for a column of this name: words of the script, where it took others for none."""
        values = values_of(name)
        words = self._learnt.of("words", str(values[0])) or self._learnt.of("words", str(values[1]))
        if words:
            return [words[number % len(words)] for number in range(ROWS)]
        named = values_named(self._sources, name)
        if not set(named) <= set(values):
            named = [*named, *([] if len(named) > 1 else ["other"] if isinstance(named[0], str) else [named[0] + 1])]
            return random.Random(name).choices(named, k=ROWS)  # noqa: S311 - made-up values
        if isinstance(values[0], float) and has_few(self._sources, name):
            return [number % CLASSES for number in range(ROWS)]
        small = self._learnt.below(SMALL)
        if name not in KINDS and isinstance(values[0], float) and self._learnt.whole():
            values = [int(abs(value) * 1_000) for value in values]
        return [value % small if isinstance(value, int) else value for value in values]

    def _columns(self, pandas: Any, keywords: dict[str, Any]) -> list[Any]:
        """The columns that the user's code names of what is being read, or only some of them where it asks for these."""
        asked, all_of = keywords.get("usecols"), keywords.get("names")
        if all_of is not None and not isinstance(asked, (list, tuple)):
            return list(all_of)
        if isinstance(asked, (list, tuple)) and all(isinstance(each, str) for each in asked):
            return list(asked)
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
        for each in ("dtype", "converters", "parse_dates", "na_values", "index_col"):
            if each in ("parse_dates", "index_col") or isinstance(keywords.get(each), dict):
                found.update(dict.fromkeys(name for name in _listed(keywords.get(each)) if isinstance(name, str)))
        columns = list(found)
        if isinstance(asked, (list, tuple)):  # by their places
            width = len(asked)
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
            _grow(self, key)
            return super().__getitem__(key)

    for name in GROWING:
        setattr(Table, name, _growing_first(getattr(pandas.DataFrame, name)))
    Table.__name__ = Table.__qualname__ = "DataFrame"
    return Table


def _grow(table: Any, wanted: Any) -> None:
    """Makes up the columns of these names that a table does not have."""
    for name in _listed(wanted):
        if isinstance(name, str) and name not in table.columns:
            table[name] = values_of(name)[: len(table)]


def _growing_first(method: Any) -> Any:
    """A method of tables that names columns; what `drop` names are rows unless it says otherwise."""

    @functools.wraps(method)
    def asked(table: Any, *arguments: Any, **keywords: Any) -> Any:
        named = [value for key, value in keywords.items() if key in KEYWORDS]
        if method.__name__ != "drop" or "columns" in keywords or keywords.get("axis") in (1, "columns"):
            named += arguments[:1]
        for each in named:
            _grow(table, each)
        return method(table, *arguments, **keywords)

    return asked


def _counts(table: Any, pandas: Any) -> bool:
    """Whether the rows of a table have no other names than their places."""
    return isinstance(table.index, pandas.RangeIndex)


def _listed(given: Any) -> list[Any]:
    """The columns that an argument names: one, several, or the keys of a dictionary, whose values `parse_dates` joins."""
    if given is None or isinstance(given, bool):
        return []
    return list(given) if isinstance(given, (list, tuple, dict, set)) else [given]


def _place(table: Any, name: Any) -> Any:
    """The column with this name, or at this place; None where there is none."""
    if name in table.columns:
        return name
    return table.columns[name] if isinstance(name, int) and -len(table.columns) <= name < len(table.columns) else None


def _indexed(table: Any, wanted: Any, names: Any) -> Any:
    """The table with these columns as its index; of those that are named by their place nothing else is known."""
    index = []
    for each in _listed(wanted):
        name = each if isinstance(each, str) or names is None else _place(table, each)
        if name not in table.columns:
            table[name] = range(len(table)) if isinstance(name, int) else values_of(str(name))
        index.append(name)
    if not index:
        return table
    table = table.set_index(index)
    return table.rename_axis(None) if isinstance(wanted, int) and names is None else table


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
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in NAMING:
        if spelled(node.func.value) in tables:
            values = [*node.args, *(each.value for each in node.keywords if each.arg in KEYWORDS)]
            values = [
                key for value in values for key in (value.keys if isinstance(value, ast.Dict) else [value]) if key
            ]
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
