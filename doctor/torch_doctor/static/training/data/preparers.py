"""What prepares rows before a model gets them: what was fitted on some of them, and tokenizers.

A value remembers it in the rows of its flow. What is fitted in a loop may be meant for the rows of one pass alone, and is not told.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from torch_doctor.static.domains.rows import holding
from torch_doctor.static.flow import NONE, PART
from torch_doctor.static.tables import datasets
from torch_doctor.static.training import pixels, readings
from torch_doctor.static.values import Plain, Tool, Unknown, Value
from torch_doctor.static.values.symbols import alike
from torch_doctor.trace import (
    BY_HAND,
    CLASSES,
    COUNTS,
    FITTED,
    TOKENS,
    VOCABULARY,
    WORDS,
    PreparerBuilt,
)

if TYPE_CHECKING:
    from torch_doctor.static import program as p
    from torch_doctor.static.flow import Flow
    from torch_doctor.static.run import Run
    from torch_doctor.trace import Site

_ORDERS: Final = (CLASSES, COUNTS, WORDS)
"""Sorts of orders by which words are numbered, and classes."""


def fitted(run: Run, function: str, rows: Value, node: p.Node | Site, *, whole: bool) -> frozenset[int]:
    """Say that something was fitted on these rows, whole or in part; nothing where it may be one fit of many."""
    if _is_one_of_many(run):
        return NONE
    name = function.rpartition(".")[2]
    return built(run, FITTED, name, f"{function} {rows_fitted(run, rows, whole=whole)}", node)


def by_hand(run: Run, rows: Value, statistic: holding.Computed) -> frozenset[int]:
    """Say that a statistic of these rows scales them; nothing where other rows may have the same one."""
    if run.modules_called or not statistic.on:
        return NONE
    item = run.of(holding.Rows).item
    if item is not None:
        item.append(statistic)
        return NONE
    how = f"{BY_HAND} {statistic.on}"
    if any(event.how == how for event in of(run, rows.flow.rows)):
        return NONE
    return built(run, FITTED, BY_HAND, how, statistic.site)


def of_item(run: Run, statistics: list[holding.Computed]) -> frozenset[int]:
    """Say that a data set scales each of its samples by such statistics."""
    by_text = {statistic.on: statistic.site for statistic in reversed(statistics)}
    return NONE.union(*(built(run, FITTED, BY_HAND, f"{BY_HAND} {on}", site) for on, site in by_text.items()))


def rows_of_statistic(run: Run, rows: Value, *, whole: bool, by_column: bool) -> str:
    """Return the same text for a statistic as for what is fitted; "" where other rows may have the same one.

    So do samples that are scaled each by itself, pictures, and numbers that are made up. A number for all columns may be one of
    pictures, if they are no table.
    """
    found = holding.rows_in(rows)
    read = readings.among(run, found)
    split = bool(holding.splits_among(run, found))
    alone = (
        _is_one_of_many(run)
        or run.of(holding.Rows).item is not None
        or not (read or split)
        or pixels.place_of(rows) is not None
    )
    many = by_column or readings.are_tables(run, read)
    return rows_fitted(run, rows, whole=whole) if many and not alone else ""


def rows_fitted(run: Run, rows: Value, *, whole: bool) -> str:
    """Return a text that is the same for the same rows, all of a file or a part of one, or a value."""
    found, root = holding.rows_in(rows), repr(holding.root_of(run, rows))
    read = readings.text(run, found)
    if PART not in found:
        return read if whole and read else root
    part = alike(rows.symbol) if isinstance(rows, (Plain, Unknown)) else root
    return f"{read or root} {part}"


def _is_one_of_many(run: Run) -> bool:
    return bool(run.modules_called or run.of(holding.Rows).samples or any(run.scope.iterations()))


def built(run: Run, sort: str, name: str, how: str, node: p.Node | Site) -> frozenset[int]:
    """Say that something is there that prepares rows; its number, for the rows that it prepares."""
    event: PreparerBuilt = run.emit(PreparerBuilt, node, sort=sort, name=name, how=how)
    return frozenset((event.index,))


def collated(run: Run, data: Value | None, flow: Flow) -> Flow:
    """The history of what somebody makes of the parts of rows: it may be any of them, if only one thing prepares some."""
    parts = data.args if isinstance(data, Tool) and data.name == datasets.TENSORS else ()
    found = {rows for part in parts if (rows := within(run, part))}
    return replace(flow, rows=found.pop()) if len(found) == 1 else flow


def within(run: Run, value: Value) -> frozenset[int]:
    """What has prepared the rows in a value, or in a data set that holds them."""
    return frozenset(event.index for event in of(run, holding.rows_in(value)))


def within_data(run: Run, value: Value, numbers: frozenset[int]) -> frozenset[int]:
    """The same for a data set whose samples' inputs are, or may be, numbers of words in these orders."""
    words = frozenset(event.index for event in of(run, holding.rows_in(value)) if event.sort in _ORDERS)
    return within(run, value) - words | numbers


def of(run: Run, rows: frozenset[int]) -> list[PreparerBuilt]:
    """Those among the events that a flow knows of its rows."""
    events = run.trace.at(*sorted(rows - {PART})) if rows else ()
    prepare = [event for event in events if isinstance(event, PreparerBuilt)]
    return [event for event in prepare if event.sort in (FITTED, TOKENS) or (event.sort in _ORDERS and event.rows)]


def in_short(event: PreparerBuilt) -> tuple[str, str]:
    """The sort of what prepares rows, and the text that is the same for the same result."""
    return (VOCABULARY, event.rows) if event.sort in _ORDERS else (event.sort, event.how)
