"""How rows are split, and which rows a value shows: all of them, a part, or one after the other.

A value remembers in its flow what was fitted on the rows in it, the splits that it is a part of, and `PART` where
some rows were left out otherwise. Where a split meets what was fitted on all that it splits, its event says so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static import program as p
from torch_doctor.static.domains import copying
from torch_doctor.static.domains.rows import classes, holding, windows
from torch_doctor.static.flow import NONE, PART
from torch_doctor.static.library import Stage, library_family
from torch_doctor.static.tables import data, fitting
from torch_doctor.static.training import drawing, readings
from torch_doctor.static.training.data import arrays
from torch_doctor.static.values import (
    Args,
    Call,
    Const,
    Content,
    Fact,
    Plain,
    Sequence,
    Symbol,
    Tool,
    Unknown,
    Value,
    plain_from,
    symbol_of,
)
from torch_doctor.static.values.symbols import LENGTH
from torch_doctor.trace import Fitted, RowsSplit

if TYPE_CHECKING:
    from collections.abc import Iterable

    from torch_doctor.static.run import Run
    from torch_doctor.trace import Site

FEW = 100
"""A bound of fewer rows than that is the length of a window rather than of a training set."""
INDICES = "indices"
"""The attribute of a subset that says which rows it has."""
DEEP = 3
"""How far into a bound it is looked for what it is computed of."""


def read(run: Run, name: str, call: Call, result: Value) -> Value:
    """What a function of a library returns, with what is known of the rows in it where it reads them."""
    found = readings.of_call(run, name, call)
    if found and isinstance(result, Sequence):
        items = tuple(holding.with_rows(item, item.flow.rows | found) for item in result.content.items)
        return run.own(Sequence(result.kind, Content(items, result.content.rest), result.born))
    return holding.with_rows(result, result.flow.rows | found) if found else result


# --- splits ---


def made(run: Run, by: str, values: Args, node: p.Node, orders: frozenset[int] = NONE) -> RowsSplit:
    """Say that rows are split, perhaps at random, and what was fitted on them."""
    found = frozenset[int]().union(*(holding.rows_in(value) for value in values))
    again = copying.copied(run, values)
    event: RowsSplit = run.emit(
        RowsSplit,
        node,
        by=by,
        fits=_fits(run, found),
        copied=again == copying.COPIES,
        altered=again == copying.ALTERED,
        orders=orders,
        windows=_windows(run, values) if orders else None,
    )
    known = run.of(holding.Rows)
    known.splits[event.index] = frozenset(holding.root_of(run, value) for value in values)
    if again:
        known.copies[event.index] = again
    return event


def _windows(run: Run, values: Iterable[Value]) -> Site | None:
    """Where overlapping windows were cut that are the samples of some values."""
    found = (windows.within(run, holding.rows_in(value)) for value in values)
    return next((site for site in found if site is not None), None)


def splits_of(run: Run, value: Value) -> frozenset[int]:
    """The splits that the rows in a value are a part of."""
    return holding.splits_among(run, holding.rows_in(value))


def _fits(run: Run, rows: frozenset[int]) -> frozenset[int]:
    return frozenset(event.index for event in run.trace.at(*rows - {PART}) if isinstance(event, Fitted))


def arrays_split(run: Run, name: str, call: Call) -> Value:
    """What `train_test_split` returns: two parts of every array."""
    drawn = drawing.at(run, call.node)
    event = made(run, name, call.args, call.node, drawn if _mixes(call) else NONE)
    _chosen_from(run, call.args, drawn)
    parts = [
        holding.with_rows(
            plain_from((value,), size=arrays.some_rows(value)), holding.rows_in(value) | {event.index} | drawn
        )
        for value in call.args
        for _ in range(2)
    ]
    run.of(holding.Rows).parts.update((holding.root_of(run, part), event.index) for part in parts)
    return run.own(Sequence("list", Content(tuple(parts)), run.site(call.node)))


def _mixes(call: Call) -> bool:
    """Whether the samples are put in random order before they are split."""
    return call.flag("shuffle", default=True) is True


def dataset_split(run: Run, name: str, whole: Value, node: p.Node) -> None:
    """A dataset is split into subsets."""
    if not run.modules_called:
        made(run, name, (whole,), node, drawing.at(run, node))


@library_family(data.SUBSETS, stage=Stage.NOTE)
def subset(run: Run, _: str, call: Call) -> None:
    """`Subset(dataset, indices)`."""
    if len(call.args) > 1:
        indexed(run, call.args[0], call.args[1])


def indexed(run: Run, of: Value, indices: Value) -> None:
    """Rows are taken at indices: those of a part, where the indices were split before."""
    numbers = indices.flow.rows
    _chosen_from(run, (of,), numbers)
    if numbers:
        fits = _fits(run, holding.rows_in(of))
        for event in run.trace.at(*numbers - {PART}):
            if isinstance(event, RowsSplit):
                cut = _windows(run, (of,)) if event.orders else None
                run.trace.replace(event, fits=event.fits | fits, windows=event.windows or cut)
                _again(run, event, of)


def _again(run: Run, split: RowsSplit, of: Value) -> None:
    """Rows are taken by numbers that were split: whether all that is taken by these has copies."""
    known = run.of(holding.Rows)
    roots = known.splits[split.index]
    answers = known.answers.setdefault(roots, set())
    answers.add(run.ask(copying.Copied, of))
    for event in run.trace.at(*(index for index, others in known.splits.items() if others == roots)):
        if isinstance(event, RowsSplit):
            again = known.copies.get(event.index) or copying.together(answers)
            run.trace.replace(event, copied=again == copying.COPIES, altered=again == copying.ALTERED)


def _chosen_from(run: Run, of: Iterable[Value], numbers: frozenset[int]) -> None:
    """Those among some events that draw rows have chosen from the rows of these values."""
    if numbers:
        drawing.chosen_from(run, numbers, "; ".join(sorted(repr(holding.root_of(run, value)) for value in of)))


def taken(run: Run, value: Value, key: Value, node: p.Index, item: Value) -> Value:
    """An item of rows: some of them, where it is no column."""
    place = node.key
    if isinstance(place, p.Display) and place.items:
        place = place.items[0]
        key = key.content.items[0] if isinstance(key, Sequence) and key.content.items else Plain()
    if isinstance(place, p.Slice):
        return _sliced(run, value, place, node, item)
    if isinstance(key, Const):
        whole = isinstance(key.value, str) or key.value in (None, ...)
        if not whole:
            return holding.with_rows(item, value.flow.rows | {PART})
        column = run.of(holding.Rows).columns.get((holding.root_of(run, value), symbol_of(key)), NONE)
        return holding.with_rows(item, item.flow.rows | column | readings.under(run, value, key.value, node))
    if isinstance(key, Sequence) and place is node.key and not any(map(_is_number, key.content.items)):
        return item  # names of columns
    indexed(run, value, key)
    split = key.flow.rows - drawing.among(run, key.flow.rows) - readings.among(run, key.flow.rows)
    return holding.with_rows(item, value.flow.rows | key.flow.rows | (NONE if split else {PART}))


def _is_number(value: Value) -> bool:
    return isinstance(value, Const) and isinstance(value.value, (int, bool))


def _sliced(run: Run, value: Value, cut: p.Slice, node: p.Index, item: Value) -> Value:
    """`rows[:n]` and `rows[n:]`: the two sides of one bound are a split."""
    if cut.lower is None and cut.upper is None:
        return item
    lower, upper = (None if bound is None else run.evaluate(bound) for bound in (cut.lower, cut.upper))
    rows = value.flow.rows | {PART} | windows.sliced(run, node, lower, upper)
    many = any(_many(each) for each in (lower, upper) if each is not None)
    if not _meets(run, value, cut, (lower, upper)) or not many:
        return holding.with_rows(item, rows)
    event = made(run, "slices", (value,), node, drawing.among(run, value.flow.rows))
    return holding.with_rows(item, rows | {event.index})


def _meets(run: Run, value: Value, cut: p.Slice, bounds: tuple[Value | None, Value | None]) -> bool:
    """Whether another slice of the same rows, or of rows that the same statement fits something on, ends or begins here."""
    begins, ends = (set() if each is None else {run.text(each)} for each in (cut.lower, cut.upper))
    if isinstance(cut.lower, p.Operation) and cut.lower.op == "-" and len(cut.lower.operands) > 1:
        begins.add(run.text(cut.lower.operands[0]))  # a window reaches back over the bound
    fitted = {event.site for event in run.trace.at(*value.flow.rows - {PART}) if isinstance(event, Fitted)}
    borders = [{_border(each)} - {None} for each in bounds]
    known = run.of(holding.Rows)
    root = known.meets(holding.root_of(run, value), begins, ends)
    return any([root, *(known.meets(site, *borders) for site in fitted)])


def _border(bound: Value | None) -> Symbol | None:
    """What a bound is, without what a window reaches back over it, and whatever the rows are that are counted."""
    if bound is None:
        return None
    symbol = symbol_of(bound)
    while symbol[0] == "-" and len(symbol) > 2:
        symbol = symbol[1]
    return _alike(symbol)


def _alike(symbol: Symbol) -> Symbol:
    if symbol[0] == LENGTH:
        return (LENGTH,)
    return tuple(_alike(part) if isinstance(part, tuple) and part else part for part in symbol)


def _many(bound: Value) -> bool:
    """Whether a bound is a share of the rows, or a great number of them."""
    if isinstance(bound, Const):
        return isinstance(bound.value, int) and abs(bound.value) >= FEW
    return isinstance(bound, Plain) and _is_share(bound.symbol, DEEP)


def _is_share(symbol: Symbol, depth: int) -> bool:
    if symbol[0] in ("*", "/", "//"):
        return True
    parts = [part for part in symbol[1:] if isinstance(part, tuple) and part] if symbol[0] in ("+", "-") else []
    return depth > 0 and any(_is_share(part, depth - 1) for part in parts)


# --- what rows are kept in ---


def stored(run: Run, holder: Plain, new: Value, target: p.Index) -> tuple[p.Expr, Value] | None:
    """A column of a table, or some of its numbers, were set: what is known of them is known of the table."""
    known = run.of(holding.Rows)
    order = classes.among(run, new.flow.rows)
    key = run.evaluate(target.key)
    known.columns[holding.root_of(run, holder), symbol_of(key)] = order
    rows = (new.flow.rows - {PART} - order) | readings.changed(run, holder, target)
    where = target.value
    if isinstance(where, p.Attribute) and where.name in fitting.PLACES:
        where = where.value
        holder_ = run.evaluate(where)
        if not isinstance(holder_, Plain):
            return None
        holder = holder_
    if rows <= holder.flow.rows:
        return None
    return where, holding.with_rows(holder, holder.flow.rows | rows)


@library_family(data.SPLITS)
def split(run: Run, name: str, call: Call) -> Value:
    """What `random_split` returns: as many subsets as it is given lengths."""
    whole = call.argument(0, "dataset") or Unknown()
    dataset_split(run, name, whole, call.node)
    drawn = drawing.at(run, call.node)
    _chosen_from(run, (whole,), drawn)
    lengths = call.argument(1, "lengths")
    content = lengths.content if isinstance(lengths, Sequence) else Content((), Plain())
    count = len(content.items) if content.rest is None else 0
    items: tuple[Value, ...] = tuple(_subset(run, whole, call.node, part, drawn) for part in range(count))
    for part, length in zip(items, content.items, strict=False):
        if isinstance(part, Tool) and isinstance(length, Const) and type(length.value) is int:
            part.facts[Fact.LENGTH] = length
    return run.own(
        Sequence(
            "list", Content(items, None if count else _subset(run, whole, call.node, None, drawn)), run.site(call.node)
        )
    )


def _subset(run: Run, whole: Value, node: p.Node, part: int | None, drawn: frozenset[int]) -> Tool:
    made: Tool = run.own(Tool(run.site(node), "torch.utils.data.Subset", args=(whole,)))
    made.fields["dataset"] = whole
    made.fields[INDICES] = holding.with_rows(Plain(), drawn)
    made.facts[Fact.PORTION] = part
    return made
