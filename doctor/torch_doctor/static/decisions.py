"""The tests that a run could not decide: which branch of the trace each is, and what one says of another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from torch_doctor.static import program as p
from torch_doctor.static.knowledge import Knowledge
from torch_doctor.static.program.walking import asks_version, names_process, tells_processes_apart
from torch_doctor.static.state import per_run
from torch_doctor.static.training.unresolved import elsewhere
from torch_doctor.static.values import TRAINING, VERSION
from torch_doctor.static.values.symbols import OPTION, SYNCHRONISED, outcome
from torch_doctor.trace import Branch, BranchKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from torch_doctor.static.values import Symbol
    from torch_doctor.trace import Formula, Guards, Needs, Site, Trace


REMAINDER = "%"
_TELLING = (VERSION, REMAINDER, SYNCHRONISED, TRAINING)
_PROCESS = "process"  # stands for every name that may tell processes apart: `args.rank % gpus_per_node == 0`


class Decisions(Knowledge):
    """The undecided tests of one run."""

    _branches: dict[Symbol, int] = per_run(dict)
    _equalities: dict[Symbol, dict[Symbol, None]] = per_run(dict)  # what was compared, with which constants
    _written: dict[p.Node, tuple[bool, bool]] = per_run(dict)
    _about: dict[Symbol, dict[int, Symbol]] = per_run(dict)  # what tests compare or are about, with the tests

    def equals(self, symbol: Symbol) -> list[Symbol]:
        """The tests known so far that fail where this one holds: the same thing cannot equal two constants."""
        if symbol[0] != "==" or symbol[2][0] != "const":
            return []
        asked = self._equalities.setdefault(symbol[1], {})
        asked[symbol] = None
        return [other for other in asked if other[2] != symbol[2]]

    def implied(
        self,
        assumed: dict[Symbol, bool],
        facts: dict[Symbol, bool],
        last: Callable[[Symbol, dict[Symbol, bool]], Symbol | None],
    ) -> dict[Symbol, bool]:
        """What holds on a path that has `assumed` something, and now these facts.

        `last` is the test that holds where a test of an option, and those of all its other choices, fail.
        """
        found = assumed | facts
        for whole in [each for each, arm in assumed.items() if not arm and each[0] == "and"]:
            unknown = [part for part in whole[1:] if outcome(part, found) is not True]
            if len(unknown) == 1 and outcome(unknown[0], found) is None:  # both at once was ruled out before
                negated = unknown[0][0] == "not"
                found.setdefault(unknown[0][1] if negated else unknown[0], negated)
        for symbol, arm in [*found.items()]:
            if symbol in assumed:
                continue
            if not arm and symbol[0] == "==" and (only := last(symbol, found)) is not None:
                found[only], symbol, arm = True, only, True  # noqa: PLW2901 - what follows of it follows, too
            if arm and symbol[0] == OPTION:
                found = _tests(symbol) | found
            if arm and (others := self.equals(symbol)):
                found |= dict.fromkeys(others, False)
        return found

    def branch(
        self,
        symbol: Symbol,
        node: p.Node,
        site: Site,
        trace: Trace,
        needs: Callable[[Symbol], Needs | None],
        test: Callable[[Symbol], Formula | None],
    ) -> int:
        """The number of the branch of the trace that a symbol decides.

        `needs` says which setting an arm of it needs, and `test` which formula it is.
        """
        number = self._branches.get(symbol)
        if number is None:
            number = self._branches[symbol] = len(trace.branches)
            trace.branches.append(Branch(site, self._kind(symbol, node), test(symbol), needs(symbol)))
            for side in _sides(symbol):
                self._about.setdefault(side, {})[number] = symbol
        return number

    def begins_anew(self, trace: Trace, guards: Guards, counter: Symbol) -> None:
        """Where a counter begins anew under one of these guards, a test of it: the test holds for every k-th batch."""
        about = self._about.get(counter, {})
        for number, _ in guards:
            if number in about:
                trace.branches[number] = replace(trace.branches[number], kind=BranchKind.PERIODIC)

    def _kind(self, symbol: Symbol, node: p.Node) -> BranchKind:
        if symbol[0] == "raised":
            return BranchKind.RAISED
        written = self._written.get(node)
        if written is None:  # a loop's test is met again and again, with other symbols
            test = node.test if isinstance(node, p.Choice) else node
            while isinstance(test, p.Logic) and test.op == "not":
                test = test.operands[0]
            compares = isinstance(test, p.Compare) and test.op in ("<", "<=", ">", ">=")
            written = self._written[node] = (asks_version(test), compares and not tells_processes_apart(node))
        asks, measures = written
        mentioned = _mentioned(symbol)
        if asks or VERSION in mentioned:
            return BranchKind.VERSION
        if SYNCHRONISED in mentioned or (REMAINDER in mentioned and _PROCESS not in mentioned):
            return BranchKind.PERIODIC
        if TRAINING in mentioned:
            return BranchKind.MODE
        if measures:
            return BranchKind.MEASURE
        if symbol[0] == "isinstance" or (symbol[0] == "==" and any(part[0] == "lib" for part in symbol[1:])):
            return BranchKind.TYPE
        if elsewhere.decided(symbol):
            return BranchKind.ASKED
        return BranchKind.FLAG if symbol[0] in ("flag", ".", "is") else BranchKind.UNKNOWN


def _tests(option: Symbol) -> dict[Symbol, bool]:
    """The tests that lead to an option, with their outcomes; none where nobody knows them."""
    return dict(part for part in option[1:] if isinstance(part, tuple) and len(part) == 2 and isinstance(part[1], bool))


def _sides(symbol: Symbol) -> Iterator[Symbol]:
    """What a test is about: itself, what it compares, and the same of tests that it is made of."""
    yield symbol
    if symbol[0] in ("and", "or", "not", "==", "<", "<=", ">", ">="):
        for part in symbol[1:]:
            if isinstance(part, tuple) and part:
                yield from _sides(part)


def _mentioned(symbol: tuple[Any, ...]) -> set[str]:
    """Which of the words that tell kinds of tests apart are in a symbol."""
    found: set[str] = set()
    waiting: list[tuple[Any, ...]] = [symbol]
    while waiting:
        for part in waiting.pop():
            if isinstance(part, tuple):
                waiting.append(part)
            elif part in _TELLING:
                found.add(part)
            elif isinstance(part, str) and part.isidentifier() and names_process(part):
                found.add(_PROCESS)
    return found
