"""Compares what two runs of a script read: before a fix and after it, with the same weights, inputs and random numbers."""

from __future__ import annotations

import ast
import difflib
import math
from collections import defaultdict
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct

from torch_doctor.edits import Figure
from torch_doctor.sources.source import NEWLINE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from torch_doctor.trace import Read, Run, Site

Number: TypeAlias = "float | int | str"
CLOSE = 1e-3
"""How much numbers may differ, compared with the largest of them."""
TINY = 1e-6
ORDER = ("reported", "read", "returned", "compared", "chosen")
"""Which of several changed values is named: the most telling first."""
LONGEST = 40
"""Characters of an expression in a line."""


class Difference(Struct, frozen=True):
    """A value that changed: where it is read now, how, in which expression, and what it was and is."""

    site: Site
    how: str
    text: str
    was: Number
    now: Number

    def __str__(self) -> str:
        """Return it in words."""
        text = " ".join(self.text.split())
        text = text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
        was, now = map(_shown, (self.was, self.now))
        where = f"{self.site.path}:{self.site.row}"
        return f"`{text}` at {where} changed from {was} to {now} with the same weights"


def incomparable(before: Run, after: Run) -> str:
    """Return why values that differ between two runs prove nothing; empty where they do."""
    if "stopped" in (before.end.how, after.end.how) or "killed" in (before.end.how, after.end.how):
        return "a run did not finish in time"
    if sorted(before.capped.values()) != sorted(after.capped.values()):
        return "the probe left a loop after different numbers of iterations"
    if after.unlike and before.end.how != "exception":  # what comes after that is compared with nothing
        return "the two runs computed different numbers of values"
    return ""


def broken(before: Run, after: Run) -> str:
    """Return the exception with which only the second run ended; empty where there is none."""
    failed = after.end.how == "exception" and before.end.how != "exception"
    return after.end.exception.partition("\n")[0] if failed else ""


def differences(
    before: Run, after: Run, texts: Mapping[str, tuple[str, str]], changes: frozenset[Figure]
) -> list[Difference]:
    """Return the values that changed, the most telling first, except those that the fix is meant to change.

    `texts` holds the two versions of each file that differs.
    """
    lines = {path: _Lines(*pair) for path, pair in texts.items()}
    first, second = _places(before.read), _places(after.read)
    found: list[Difference] = []
    more = _more_weights(before, after) if Figure.STATE in changes else None
    for (path, row, how), sites in first.items():
        moved = lines[path].now(row) if path in lines else row
        others = second.get((path, moved, how), []) if moved else []
        if not moved or len(others) != len(sites):
            continue
        if Figure.HERE in changes and path in lines and moved in lines[path].derived:
            continue
        for reads, again in zip(sites, others, strict=True):
            found += _first_difference(reads, again, more)
    return sorted(found, key=lambda each: (ORDER.index(each.how), each.site))


def _places(reads: Iterable[Read]) -> dict[tuple[str, int, str], list[list[Read]]]:
    """Return what was read by file, row and way of reading: of each place in the row all values, in order."""
    by_site: dict[tuple[Site, str], list[Read]] = defaultdict(list)
    for each in reads:
        if each.site.cell is None:
            by_site[each.site, each.how].append(each)
    found: dict[tuple[str, int, str], list[list[Read]]] = defaultdict(list)
    for (site, how), values in sorted(by_site.items(), key=lambda pair: pair[0][0]):
        found[site.path, site.row, how].append(values)
    return found


def _more_weights(before: Run, after: Run) -> frozenset[float]:
    """Return by how many weights the models of the two runs differ, each and all together."""
    pairs = [
        [float(now - was) for was, now in zip(*counts, strict=True)]
        for counts in zip(before.weights, after.weights, strict=False)
    ]
    return frozenset(number for pair in pairs for number in pair) | frozenset(map(sum, zip(*pairs, strict=True)))


def _first_difference(
    reads: Sequence[Read], again: Sequence[Read], more: frozenset[float] | None
) -> Iterator[Difference]:
    """Return the first value of a place that changed; `more`: weights may have been added, so many of them."""
    for was, now in zip(reads, again, strict=False):
        if set(was.parts) != set(now.parts) and more is None:
            yield Difference(now.site, now.how, now.text, f"{len(was.parts)} entries", f"{len(now.parts)} entries")
            return
        for name, old in was.parts.items():
            new = now.parts.get(name)
            pair = None if new is None else _changed(old, new)
            if pair is not None and not (more and _counts(pair, more)):
                yield Difference(now.site, now.how, now.text, *pair)
                return


def _counts(pair: tuple[Number, Number], more: frozenset[float]) -> bool:
    """Whether two numbers may be the numbers of weights before and after."""
    was, now = pair
    return " " not in f"{was}{now}" and float(now) - float(was) in more


def _changed(old: Sequence[Number], new: Sequence[Number]) -> tuple[Number, Number] | None:
    """Return the first two numbers that differ by more than rounding."""
    if len(old) != len(new):
        return f"{len(old)} numbers", f"{len(new)} numbers"
    largest = max((abs(number) for each in (*old, *new) if math.isfinite(number := float(each))), default=0.0)
    for was, now in zip(old, new, strict=True):
        first, second = float(was), float(now)
        same = first == second or (math.isnan(first) and math.isnan(second))
        if not same and not abs(first - second) <= CLOSE * largest + TINY + max(map(_last_digit, (was, now))):
            return was, now
    return None


def _last_digit(number: Number) -> float:
    """Return what the last digit of a printed number stands for; 0 where it is a whole one, or was not printed."""
    if not isinstance(number, str) or "." not in number:
        return 0.0
    mantissa, _, exponent = number.lower().partition("e")
    return 1.01 * 10.0 ** (int(exponent or 0) - len(mantissa.partition(".")[2]))


def _shown(number: Number) -> str:
    return f"{number:.4g}" if isinstance(number, float) else str(number)


class _Lines:
    """Where the lines of a file lie after a fix, and which of them the fix has changed."""

    def __init__(self, before: str, after: str) -> None:
        old, new = ([line.strip() for line in NEWLINE.split(text)] for text in (before, after))
        self._now: dict[int, int] = {}
        self.edited: set[int] = set()
        matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
        for tag, start, end, there, until in matcher.get_opcodes():
            if end - start == until - there:
                self._now |= {start + number + 1: there + number + 1 for number in range(end - start)}
            if tag != "equal":
                self.edited |= set(range(there + 1, until + 1))
        self.derived = _derived(after, self.edited)

    def now(self, row: int) -> int:
        """Return the row on which a line lies now; 0 where there is none for it."""
        return self._now.get(row, 0)


def _derived(text: str, rows: Iterable[int]) -> set[int]:
    """Return these rows, and those that use a name which one of them assigns, or a function which returns one of them."""
    found = set(rows)
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return found
    statements = [_Statement(node) for node in ast.walk(tree) if isinstance(node, ast.stmt)]
    called = [
        (node.lineno, node.end_lineno or 0, name)
        for node in ast.walk(tree)
        if isinstance(node, ast.stmt)
        for name in _called_as(node)
    ]
    names: set[str] = set()
    size = -1
    while size != len(names) + len(found):
        size = len(names) + len(found)
        for each in statements:
            if not found.isdisjoint(each.rows) or not names.isdisjoint(each.reads):
                found |= each.rows
                names |= each.assigns
                if each.returns:
                    names |= {name for first, last, name in called if first <= min(each.rows) <= last}
    return found


def _called_as(node: ast.AST) -> Iterator[str]:
    """Return by which names the functions of a definition are called: objects of a class call those that have no other."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        yield node.name
    elif isinstance(node, ast.ClassDef):
        functions = [each.name for each in node.body if isinstance(each, ast.FunctionDef)]
        if any(name == "forward" or name.startswith("__") for name in functions):
            yield node.name


class _Statement:
    """The rows of a statement without those in it, and the names that it reads and assigns."""

    def __init__(self, node: ast.stmt) -> None:
        inner = [each for each in ast.iter_child_nodes(node) if isinstance(each, ast.stmt)]
        last = min([each.lineno for each in inner], default=(node.end_lineno or node.lineno) + 1)
        self.rows = set(range(node.lineno, max(last, node.lineno + 1)))
        self.returns = isinstance(node, ast.Return)
        own = [each for child in ast.iter_child_nodes(node) if child not in inner for each in ast.walk(child)]
        names = [(_name(each), each.ctx) for each in own if isinstance(each, (ast.Name, ast.Attribute))]
        self.reads = {name for name, context in names if isinstance(context, ast.Load)}
        self.assigns = {name for name, context in names if isinstance(context, ast.Store)}
        if (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Call)
            and isinstance(node.value.func, ast.Attribute)
        ):
            self.assigns |= {each.id for each in ast.walk(node.value.func.value) if isinstance(each, ast.Name)}
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            self.reads, self.assigns = set(), set()


def _name(node: ast.Name | ast.Attribute) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr
