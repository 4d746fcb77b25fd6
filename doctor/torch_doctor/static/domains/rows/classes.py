"""Numbers of classes that follow from the order in which rows have their words, or from how often they have them.

Whoever numbers the words of other rows in this way gets other numbers. Names that are sorted have the same ones.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from torch_doctor.static.domains.rows import holding, windows
from torch_doctor.static.flow import PART
from torch_doctor.static.training import drawing, readings, sums
from torch_doctor.static.values import COUNTER, Call, Content, FunctionValue, Plain, Sequence, Tensor, symbol_of
from torch_doctor.static.values.symbols import FORMATTED
from torch_doctor.static.values.texts import TEXT
from torch_doctor.trace import CLASSES, COUNTS, NAMES, WORDS, PreparerBuilt, Source

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.static import program as p
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Symbol, Tool, Value

COUNTED: Final = "counted"
"""Words are counted: the most frequent one may come first."""
SEEN: Final = "first seen"
"""The words come in the order in which the rows have them."""
MOST: Final = 5000
"""Names that are compared."""


def ordered(run: Run, kind: str, words: Value, item: Value, node: p.Node) -> frozenset[int]:
    """Return the event of words that are put in an order; rows of classes may have them in one order for all."""
    if run.modules_called:
        return frozenset()
    site, name = holding.called_at(run) or (run.site(node), run.text(node))
    how = f"{kind} {holding.root_of(run, words)}"
    sort = COUNTS if kind == COUNTED else CLASSES if _in_any_order(run, item) else WORDS
    event: PreparerBuilt = run.emit(PreparerBuilt, site, sort=sort, name=name, how=how, rows=_rows(run, words, item))
    return frozenset((event.index,))


def _rows(run: Run, words: Value, item: Value) -> str:
    """Return a text that is the same for words of the same rows, of a file or of a part that is split; "" for any others."""
    rows = holding.rows_in(words) | item.flow.rows
    split = bool(holding.splits_among(run, rows))
    if split or readings.among(run, rows):
        return f"{readings.text(run, rows)} {holding.root_of(run, words) if split else ''}".strip()
    return next((each.rows for each in orders(run, rows, CLASSES, COUNTS, WORDS) if each.rows), "")


def _in_any_order(run: Run, item: Value) -> bool:
    """Whether the rows that have these words are drawn, or were read from a file: those of folders come class by class."""
    rows = item.flow.rows
    return item.flow.source is Source.NOISE or bool(drawing.among(run, rows) | readings.among(run, rows))


def among(run: Run, rows: frozenset[int], *sorts: str) -> frozenset[int]:
    """Return those of the events that put words in an order, or are of these sorts."""
    return frozenset(event.index for event in orders(run, rows, *(sorts or (CLASSES,))))


def orders(run: Run, rows: frozenset[int], *sorts: str) -> list[PreparerBuilt]:
    """Return the events of these sorts that put the words of rows in an order."""
    events = run.trace.at(*sorted(rows - {PART})) if rows else ()
    return [event for event in events if isinstance(event, PreparerBuilt) and event.sort in sorts]


def named(run: Run, key: Value, value: Value, node: p.Node) -> Value:
    """Return what lies under a name in a dict, where the names are numbers that have another order when sorted as text."""
    if not isinstance(key, Plain) or len(key.symbol) != 2 or key.symbol[0] != TEXT:
        return value
    numbers = _counted(run, key.symbol[1]) if isinstance(key.symbol[1], tuple) else []
    if sorted(map(str, numbers)) == [str(number) for number in sorted(numbers)]:
        return value
    event: PreparerBuilt = run.emit(
        PreparerBuilt, node, sort=NAMES, name=run.text(node), how=f"numbers {run.site(node)}"
    )
    return holding.with_rows(value, value.flow.rows | {event.index})


def _counted(run: Run, symbol: Symbol) -> list[int]:
    """The values of a number that a loop counts; none where they are not known."""
    total: windows.Linear = windows.linear(symbol) or Counter()
    turns = run.of(sums.Turns)
    counters = [each for each in total if each[0] == COUNTER and "turn" in each and FORMATTED not in each]
    if len(counters) != 1 or set(total) - {counters[0], windows.ONE}:
        return []
    turn = counters[0][counters[0].index("turn") + 1]
    count = turns.lengths.get(turn)
    if turns.steps.get(turn) != windows.ONE or count is None or count > MOST:
        return []
    return [total[counters[0]] * place + total[windows.ONE] for place in range(int(count))]


def numbered(run: Run, number: Value, item: Value) -> Value:
    """The number of an item of something, or its key, by the order that its words were put in."""
    order = among(run, item.flow.rows, CLASSES, COUNTS, NAMES, WORDS)
    return holding.with_rows(number, number.flow.rows | order) if order else number


def reordered(run: Run, item: Value, *, by_count: bool) -> Value:
    """An item of what was sorted, by how often there are such words or by anything else: no other order counts any more."""
    order = among(run, item.flow.rows, CLASSES, COUNTS, NAMES, WORDS)
    if not order:
        return item
    if isinstance(item, Sequence):
        items = tuple(reordered(run, each, by_count=by_count) for each in item.content.items)
        return Sequence(item.kind, Content(items, item.content.rest))
    wanted = COUNTS if by_count else NAMES
    counts = orders(run, order, wanted)
    if counts:
        known = run.of(holding.Rows).orders
        if counts[0].index not in known:
            how = counts[0].how if by_count else f"text of {counts[0].how}"
            known[counts[0].index] = run.trace.add(
                replace(counts[0], sort=CLASSES, how=how, index=run.trace.next)
            ).index
        return holding.with_rows(item, item.flow.rows - order | {known[counts[0].index]})
    return holding.with_rows(item, item.flow.rows - order)


def by_count(run: Run, key: Value | None, item: Value, node: p.Node) -> bool:
    """Whether items are sorted first of all by how often there are such words."""
    if not isinstance(key, FunctionValue) or not isinstance(item, Sequence):
        return False
    result = run.resolve(run.call(key, Call((item,), {}, node)))
    first = result.content.items[0] if isinstance(result, Sequence) and result.content.items else result
    if not item.content.items:
        return False
    name, *counts = item.content.items
    parts = set(_parts(symbol_of(first)))
    return symbol_of(name) not in parts and any(symbol_of(each) in parts for each in counts)


def _parts(symbol: Symbol) -> Iterator[Symbol]:
    yield symbol
    for part in symbol:
        if isinstance(part, tuple) and part:
            yield from _parts(part)


def of_sample(run: Run, sample: Value) -> frozenset[int]:
    """Return by which orders the numbers in a sample were given that are its classes."""
    parts = sample.content.all() if isinstance(sample, Sequence) and sample.kind == "tuple" else ()
    numbers = (part for part in parts[1:] if isinstance(part, (Plain, Tensor)))
    return frozenset[int]().union(*(among(run, part.flow.rows, CLASSES, NAMES) for part in numbers))


def of_inputs(run: Run, sample: Value) -> frozenset[int]:
    """Return by which orders the words in a sample are numbered: in its first part, or in a sample of one part."""
    part = sample.content.items[0] if isinstance(sample, Sequence) and sample.content.items else sample
    return among(run, part.flow.rows, CLASSES, COUNTS, WORDS) if isinstance(part, (Plain, Tensor)) else frozenset()


def of_arrays(run: Run, arrays: Tool) -> frozenset[int]:
    """Return the same for the tensors that a data set consists of, after the first."""
    return frozenset[int]().union(*(among(run, part.flow.rows) for part in arrays.args[1:]))
