"""Columns of pandas whose words are numbered in the order in which the rows have them, or by how often they do.

https://pandas.pydata.org/docs/reference/api/pandas.factorize.html
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from torch_doctor.static import program as p
from torch_doctor.static.domains.rows import classes, holding
from torch_doctor.static.language import containers
from torch_doctor.static.library import library_family
from torch_doctor.static.values import Call, Content, Mapping, Plain, Sequence, Value, fresh_symbol, plain_from

if TYPE_CHECKING:
    from torch_doctor.static.run import Run

_DIFFERENT: Final = frozenset(("unique", "drop_duplicates"))
"""Methods that give each word once, the one first that comes first."""
_LOOKED_UP: Final = frozenset(("map", "replace"))
"""Methods that look up each word in a dict."""


def method(run: Run, func: Plain, call: Call) -> Value | None:
    """What such a method of a column gives; None for any other."""
    if func.symbol[0] != "." or run.modules_called:
        return None
    of, name = func.symbol[1], func.symbol[2]
    if name in _LOOKED_UP and call.args and isinstance(call.args[0], Mapping):
        rest = call.args[0].fields.get("rest")
        order = classes.among(run, rest.flow.rows) if isinstance(rest, Value) else frozenset[int]()
        return holding.with_rows(plain_from((func,)), func.flow.rows | order) if order else None
    column = holding.with_rows(Plain(of), func.flow.rows)
    if name in _DIFFERENT and not call.values:
        return _ordered(run, column, classes.SEEN, call)
    if name == "value_counts" and not call.values:
        return _by_count(run, column, call)
    return _factorized(run, column, call, call.keywords) if name == "factorize" and not call.args else None


@library_family({"pandas.unique", "pandas.factorize"})
def of_library(run: Run, name: str, call: Call) -> Value | None:
    """The same as a function of a column."""
    column = call.argument(0, "values")
    if not isinstance(column, Plain) or run.modules_called:
        return None
    if name == "pandas.unique":
        return _ordered(run, column, classes.SEEN, call)
    return _factorized(run, column, call, call.keywords) if len(call.args) == 1 else None


def _ordered(run: Run, column: Value, kind: str, call: Call) -> Value | None:
    """The words of a column in this order."""
    order = classes.ordered(run, kind, column, column, call.node)
    return holding.with_rows(plain_from(()), column.flow.rows | order) if order else None


def _by_count(run: Run, column: Value, call: Call) -> Value | None:
    """The words of a column, the most frequent first."""
    counted = classes.ordered(run, classes.COUNTED, column, column, call.node)
    counts = holding.with_rows(Plain(), counted)
    order = classes.reordered(run, counts, by_count=True).flow.rows
    return holding.with_rows(plain_from(()), column.flow.rows | order) if order else None


def _factorized(run: Run, column: Value, call: Call, settings: object) -> Value | None:
    """The numbers of the words, and the words, in the order in which the rows have them; None where they are sorted."""
    if settings:
        return None
    words = _ordered(run, column, classes.SEEN, call)
    if words is None:
        return None
    numbers = holding.with_rows(plain_from((), fresh_symbol()), words.flow.rows)
    return run.own(Sequence("tuple", Content((numbers, words)), run.site(call.node)))


def counted(run: Run, words: Value, node: p.Node) -> Value | None:
    """How often a counter has the words that it is given, in a list or a text that is split; None for pairs, and anything else."""
    item = containers.element_of(run, words)
    if not isinstance(words, (Plain, Sequence)) or not isinstance(item, Plain) or not item.flow.rows:
        return None
    rows = Plain(("rows", *sorted(item.flow.rows)))  # words are other values each time that a loop goes round
    return holding.with_rows(Plain(), classes.ordered(run, classes.COUNTED, rows, item, node))


def counted_up(run: Run, key: Value, number: Value, holder: str, given: p.Expr | None, node: p.Node) -> Value:
    """A number that a word gets in a dict, where that is how many words are there already: it follows from their order."""
    counts = isinstance(given, p.Call) and isinstance(given.func, p.Name) and given.func.id == "len"
    if not counts or not isinstance(given, p.Call) or len(given.args) != 1 or run.text(given.args[0]) != holder:
        return number
    rows = Plain(("rows", *sorted(key.flow.rows)))  # a word is another value each time that a loop goes round
    order = classes.ordered(run, classes.SEEN, rows, key, node)
    for event in run.trace.at(*sorted(order)) if isinstance(node, p.Assign) else ():  # if the word is not there
        run.trace.replace(event, guards=frozenset(sorted(event.guards)[:-1]))
    return holding.with_rows(Plain() if order else number, number.flow.rows | order)
