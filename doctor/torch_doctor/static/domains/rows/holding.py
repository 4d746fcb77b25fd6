"""What is known of the rows in a value: it is in the rows of its flow, and of what holds it.

The numbers there are those of events: what was fitted on these rows, the splits and slices that they are a part of, what has
prepared them; `PART` stands for rows that were left out otherwise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from torch_doctor.static.flow import PART
from torch_doctor.static.knowledge import Lasting
from torch_doctor.static.state import per_run
from torch_doctor.static.values import (
    Instance,
    Mapping,
    Number,
    Object,
    Plain,
    Symbol,
    Tensor,
    Tool,
    Unknown,
    Value,
)
from torch_doctor.trace import RowsSplit, ScopeKind, Source

if TYPE_CHECKING:
    from collections.abc import Iterable

    from torch_doctor.static.run import Run
    from torch_doctor.trace import Site

DEEP = 3
"""How far into an object its rows are looked for."""


class Computed(NamedTuple):
    """A statistic of rows."""

    site: Site
    """Where it is computed."""
    root: Symbol
    """What identifies these rows, or those that they are a part of."""
    text: str
    """The expression."""
    on: str
    """A text that is the same for the same rows; "" where other rows may have the same statistic."""
    part: bool
    """Whether rows were left out."""


class Rows(Lasting):
    """What one run keeps of rows beside its values: which rows its events were about, and what was computed of them.

    `samples` counts the comprehensions and the like around, whose results are collected one by one.
    """

    fits: dict[int, Symbol] = per_run(dict)
    splits: dict[int, frozenset[Symbol]] = per_run(dict)
    parts: dict[Symbol, int] = per_run(dict)  # the split that made a part, by what identifies its rows
    statistics: dict[int, tuple[Value, Computed]] = per_run(dict)
    sites: dict[Site, int] = per_run(dict)
    slices: dict[object, tuple[set[object], set[object]]] = per_run(dict)
    held: dict[int, Value] = per_run(dict)
    samples: int = per_run(int)
    columns: dict[tuple[Symbol, Symbol], frozenset[int]] = per_run(dict)  # by which order the words in one are numbered
    orders: dict[int, int] = per_run(dict)  # of words, by the event of their counts
    copies: dict[int, str] = per_run(dict)  # whether what was split has copies, by the event of the split
    item: list[Computed] | None = per_run(lambda: None)  # what scales the sample that a data set reads now
    answers: dict[frozenset[Symbol], set[str]] = per_run(dict)  # the same of what is taken by numbers, by their roots

    def meets(self, key: object, starts: Iterable[object], stops: Iterable[object]) -> bool:
        """Note where a slice of some rows starts and stops; whether another one of them stops or starts there."""
        known = self.slices.setdefault(key, (set(), set()))
        known[0].update(starts)
        known[1].update(stops)
        return any(each in known[0] and each in known[1] for each in (*starts, *stops))


def rows_in(value: Value, depth: int = DEEP) -> frozenset[int]:
    """What is known of the rows in a value, or in a dataset that holds them."""
    found = value.flow.rows
    if depth:
        if isinstance(value, (Instance, Mapping)):
            inner = [item for item in value.fields.values() if isinstance(item, Value)]
        elif isinstance(value, Tool):
            inner = [*value.args, *value.keywords.values()]
        else:
            return found
        found = found.union(*(rows_in(item, depth - 1) for item in inner))
    return found


def are_rows(run: Run, value: Value) -> bool:
    """Whether a value may be the rows of a dataset: it comes from no model and no loader."""
    flow = value.flow
    return not run.modules_called and not flow.forwards and flow.graph is not True and flow.source is not Source.LOADER


def with_rows(value: Value, rows: frozenset[int]) -> Value:
    """The same value of which something is known of its rows."""
    if rows == value.flow.rows:
        return value
    if isinstance(value, Plain):
        return Number(replace(value.flow, rows=rows), value.symbol, value.size)
    if isinstance(value, Tensor):
        return value.with_flow(replace(value.flow, rows=rows))
    if isinstance(value, Unknown):
        return Unknown(replace(value.flow, rows=rows), value.holds, value.symbol, origin=value.origin)
    return value


def root_of(run: Run, value: Value) -> Symbol:
    """What identifies the rows that a value shows, whole or in part."""
    if isinstance(value, (Plain, Unknown)):
        return stem(value.symbol)
    if isinstance(value, Object):
        return ("object", value.id)
    run.of(Rows).held[id(value)] = value  # so that its number is not given away
    return ("value", id(value))


def called_at(run: Run) -> tuple[Site, str] | None:
    """Where the script calls the object whose method runs now, and by which name; None outside of methods."""
    thing, scope = run.frame.self, run.scope
    found = None
    while isinstance(thing, Instance):
        while scope.kind is ScopeKind.ITERATION and scope.parent is not None:
            scope = scope.parent
        if scope.called_at is None or scope.parent is None or thing.cls.find(scope.name) is None:
            break
        name = thing.cls.name if scope.name == "__init__" else f"{thing.cls.name}.{scope.name}"
        found, scope = (scope.called_at, name), scope.parent
    return found


def stem(symbol: Symbol) -> Symbol:
    """The symbol of what something is a column, a row or an attribute of."""
    while symbol[0] in (".", "[]"):
        symbol = symbol[1]
    return symbol


def splits_among(run: Run, rows: Iterable[int]) -> frozenset[int]:
    """The splits that some rows are a part of."""
    events = run.trace.at(*sorted(set(rows) - {PART}))
    return frozenset(event.index for event in events if isinstance(event, RowsSplit))
