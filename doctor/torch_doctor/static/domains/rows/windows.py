"""Windows of a series that overlap: slices that move on by less than their length.

A window is known by its slice: `series[start : start + length]`, where `start` is the number of a loop, or the index that
`__getitem__` is given. `unfold` and `sliding_window_view` cut all of them at once.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final, TypeAlias

from torch_doctor.static.flow import PART
from torch_doctor.static.knowledge import Lasting
from torch_doctor.static.language import defaults
from torch_doctor.static.state import per_run
from torch_doctor.static.training import sums
from torch_doctor.static.values import COUNTER, Const, constant, symbol_of
from torch_doctor.trace import WindowsCut

if TYPE_CHECKING:
    from collections.abc import Iterable

    from torch_doctor.static import program as p
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Call, Instance, Symbol, Value
    from torch_doctor.trace import Site

Linear: TypeAlias = "Counter[Symbol]"
"""A sum: how often each number is in it that is not known; `ONE` counts the others."""
ONE: Final[Symbol] = ("const", 1)


class CutWindows(Lasting):
    """The index of the sample that a data set of the project reads now, and where windows are cut for it."""

    index: Symbol | None = per_run(lambda: None)
    data: Instance | None = per_run(lambda: None)
    found: list[Site] = per_run(list)
    events: dict[Site, int] = per_run(dict)


def sliced(run: Run, node: p.Index, lower: Value | None, upper: Value | None) -> frozenset[int]:
    """Return the event of windows that a slice with these bounds cuts, if they overlap."""
    if lower is None or upper is None or isinstance(lower, Const):
        return frozenset()
    start, stop = linear(symbol_of(lower)), linear(symbol_of(upper))
    if start is None or stop is None:
        return frozenset()
    moves = [(symbol, step) for symbol in start if (step := _step(run, symbol)) is not None]
    if len(moves) != 1 or start[moves[0][0]] != stop[moves[0][0]]:
        return frozenset()
    stop.subtract(start)
    stride, width = start[moves[0][0]] * moves[0][1], _number(run, stop)
    overlap = stride == 1 if width is None else 0 < stride < width
    return _cut(run, node) if overlap else frozenset()


def unfolded(run: Run, call: Call) -> frozenset[int]:
    """Return the event of the windows that `tensor.unfold(dimension, size, step)` cuts along the rows, if they overlap."""
    if run.of(CutWindows).index is not None:
        return frozenset()  # they may all be of one sample
    along, *sizes = (call.argument(place, name) for place, name in enumerate(("dimension", "size", "step"), 1))
    width, step = (None if each is None else _number(run, Counter({symbol_of(each): 1})) for each in sizes)
    overlap = width != 1 if step == 1 else None not in (width, step) and 0 < step < width  # type: ignore[operator]
    return _cut(run, call.node) if overlap and isinstance(along, Const) and along.value == 0 else frozenset()


def _cut(run: Run, node: p.Node) -> frozenset[int]:
    known, site = run.of(CutWindows), run.site(node)
    if known.index is not None:
        known.found.append(site)
        return frozenset()
    if site not in known.events:
        known.events[site] = run.emit(WindowsCut, node).index
    return frozenset((known.events[site],))


def within(run: Run, rows: Iterable[int]) -> Site | None:
    """Where the windows were cut that samples are, by what is known of their rows."""
    events = run.trace.at(*sorted(set(rows) - {PART}))
    return next((event.site for event in events if isinstance(event, WindowsCut)), None)


def _step(run: Run, symbol: Symbol) -> int | None:
    """By how much a number grows from one sample to the next; None for one that does not."""
    index = run.of(CutWindows).index
    if index is not None:  # what a sample has of its own, other samples do not share
        return 1 if symbol == index else None
    if "turn" not in symbol:
        return None
    step = run.of(sums.Turns).steps.get(symbol[symbol.index("turn") + 1])
    if step is None:
        return 1 if symbol[0] == COUNTER else 0
    known = linear(step)
    number = None if known is None else _number(run, known)
    return 0 if number is None else number


def _number(run: Run, total: Linear) -> int | None:
    """The number that a sum is, with settings as they are by default; None where one is not known."""
    number = 0
    for symbol, many in total.items():
        setting = defaults.setting(run, symbol) if many else Const(0)
        known = symbol[1] if symbol[0] == "const" else None if setting is None else constant(setting)
        if type(known) is not int:
            return None
        number += many * known
    return number


def linear(symbol: Symbol) -> Linear | None:
    """Return a number as a sum; None where it grows with another power."""
    word = symbol[0]
    if word == "const":
        return Counter({ONE: symbol[1]}) if type(symbol[1]) is int else None
    if word in ("+", "-") and len(symbol) == 3:
        left, right = linear(symbol[1]), linear(symbol[2])
        if left is None or right is None:
            return None
        total = Counter(left)
        total.update({each: many if word == "+" else -many for each, many in right.items()})
        return total
    if word == "*" and len(symbol) == 3:
        for factor, other in (symbol[1:], symbol[:0:-1]):
            if factor[0] == "const" and type(factor[1]) is int and (of := linear(other)) is not None:
                return Counter({each: many * factor[1] for each, many in of.items()})
        return None
    return Counter({symbol: 1})
