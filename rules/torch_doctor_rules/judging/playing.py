"""Plays the loops of a static trace: which events happen in which pass, found by running the counters that their tests read."""

from __future__ import annotations

import operator
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from torch_doctor.trace import BranchKind, CounterChanged, LoopEntered, LoopKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from torch_doctor.trace import Branch, Event, Formula, Scope, Site, Trace

STEPS: Final = 60_000
"""Events after which a play ends: loops with longer windows are not judged."""
CONSTANT: Final = frozenset((BranchKind.FLAG, BranchKind.VERSION))
"""What decides a test in the same way throughout a run."""
_OPERATORS: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "%": operator.mod,
    "==": operator.eq,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


class Unplayable(Exception):  # noqa: N818 - it is no failure
    """Nobody knows whether an event happens in a pass."""


class Played(NamedTuple):
    """An event that happens: `turn` is the pass of the innermost loop over batches, counted over its runs, `epoch` the run."""

    event: Event
    epoch: int
    turn: int


class Lengths(NamedTuple):
    """How often loops go round in a play: the loop of the windows, those around it, and a setting without a known default."""

    batches: int
    epochs: int
    setting: int


class Loop:
    """A loop of the trace: `passes` has what happens in each that was executed, by number."""

    def __init__(self, entered: LoopEntered | None, scope: Scope) -> None:
        self.number, self.site = scope.loop, scope.site
        self.entered = entered
        self.passes: dict[int, list[Event | Loop]] = {}

    @property
    def counted(self) -> bool:
        """Whether all passes were executed."""
        return self.entered is not None and self.entered.loop_kind is LoopKind.COUNTED


class Play:
    """Plays the events of one outermost loop.

    `window` is the place of the loop whose passes fill gradients, and `assumed` are the arms that tests take which no counter
    decides, by place.
    """

    def __init__(
        self, trace: Trace, events: Iterable[Event], window: Site, assumed: Mapping[Site, bool], lengths: Lengths
    ) -> None:
        self.trace = trace
        self._entered = {event.loop: event for event in trace.of(LoopEntered)}
        self._loops: dict[int, Loop] = {}
        self._root = self._build(list(events), 0)
        self._window = window
        self._assumed, self._lengths = assumed, lengths
        self._turns: dict[int, int] = {}
        self._numbers: dict[int, int] = {}
        self._counter_of = {event.index: event.counter for event in trace.of(CounterChanged)}
        self._pass = self._epoch = self._spent = 0

    def _build(self, events: list[Event], depth: int) -> list[Event | Loop]:
        found: list[Event | Loop] = []
        for event in events:
            around = event.scope.iterations()
            if len(around) <= depth:
                found.append(event)
                continue
            scope = around[depth]
            loop = self._loops.get(scope.loop)
            if loop is None:
                loop = self._loops[scope.loop] = Loop(self._entered.get(scope.loop), scope)
                found.append(loop)
            loop.passes.setdefault(scope.number, []).append(event)
        for each in found:
            if isinstance(each, Loop):
                each.passes = {
                    number: self._build(inside, depth + 1)  # type: ignore[arg-type]  # they are events until then
                    for number, inside in each.passes.items()
                }
        return found

    def _first(self, loop: int) -> int:
        """The number that a loop had when it was executed first."""
        entered = self._entered.get(loop)
        return entered.before if entered is not None and entered.before else loop

    def events(self) -> Iterator[Played]:
        """Yield what happens, in order.

        Raises:
            Unplayable: nobody knows whether something happens, or it takes too long.
        """
        yield from self._run(self._root)

    def _run(self, nodes: list[Event | Loop]) -> Iterator[Played]:
        start, own = dict(self._numbers), dict[int, int]()
        truths: dict[int, bool] = {}
        for node in nodes:
            self._spent += 1
            if self._spent > STEPS:
                raise Unplayable
            if isinstance(node, Loop):
                yield from self._go_round(node)
                start, own = dict(self._numbers), {}
            elif self._happens(node, start, own, truths):
                if isinstance(node, CounterChanged):
                    self._count(node, own)
                else:
                    yield Played(node, self._epoch, self._pass)

    def _go_round(self, loop: Loop) -> Iterator[Played]:
        """What happens in all passes of a loop: as in the first and second that were executed, and as in the second again."""
        first = self._loops.get(self._first(loop.number), loop)
        is_window = loop.site == self._window
        passes = self._often(loop, is_window=is_window)
        turns = {each.entered.turn for each in (first, loop) if each.entered is not None} - {0}
        for number in range(passes):
            if loop.counted:
                body = loop.passes.get(number + 1)
            else:
                body = loop.passes.get(1, []) if not number else first.passes.get(2, first.passes.get(1, []))
            self._turns.update(dict.fromkeys(turns, number))
            if is_window:
                self._turns[0] = number
            yield from self._run(body or [])
            if is_window:
                self._pass += 1
        if is_window:
            self._epoch += 1

    def _often(self, loop: Loop, *, is_window: bool) -> int:
        if is_window:
            return self._lengths.batches
        length = loop.entered.length if loop.entered is not None else None
        if loop.counted:
            return int(length or 0) or max(loop.passes)
        return min(self._lengths.epochs, int(length)) if length is not None and length < STEPS else self._lengths.epochs

    def _count(self, event: CounterChanged, own: dict[int, int]) -> None:
        if event.by is None:
            if event.value is None:
                self._numbers.pop(event.counter, None)
            else:
                self._numbers[event.counter] = event.value
            return
        before = self._numbers.get(event.counter, 0) if event.value is None else event.value
        self._numbers[event.counter] = own[event.index] = before + event.by

    def _happens(self, event: Event, start: dict[int, int], own: dict[int, int], truths: dict[int, bool]) -> bool:
        unknown = False
        for number, arm in event.guards:
            branch = self.trace.branches[number]
            if branch.test is not None:
                if number not in truths:
                    truths[number] = bool(self._value(branch.test, start, own))
                if truths[number] is not arm:
                    return False
            elif (assumed := self._assumed.get(branch.site)) is None:
                unknown = True
            elif assumed is not arm:
                return False
        if unknown:
            raise Unplayable
        return True

    def _value(self, formula: Formula, start: dict[int, int], own: dict[int, int]) -> Any:  # noqa: ANN401 - a number or a truth
        def leaf(part: Formula) -> float | None:
            found = part.value
            if part.op == "pass":
                turn = self._turns.get(part.of)
                found = None if turn is None else turn + (found or 0)
            elif part.op == "counter":  # what it was after an event of this pass, or when the pass began
                found = own.get(part.of, start.get(self._counter_of.get(part.of, 0)))
            elif part.op == "batches":
                found = self._lengths.batches
            elif part.op == "setting" and found is None:
                found = self._lengths.setting
            return found

        return _computed(formula, leaf)


def _computed(formula: Formula, leaf: Callable[[Formula], float | None]) -> Any:  # noqa: ANN401 - a number or a truth
    """What a formula gives, whose numbers `leaf` tells."""
    op = formula.op
    if op in ("and", "or", "not"):
        values = (bool(_computed(part, leaf)) for part in formula.parts)
        return all(values) if op == "and" else any(values) if op == "or" else not next(values)
    if op in _OPERATORS:
        try:
            return _OPERATORS[op](*(_computed(part, leaf) for part in formula.parts))
        except (ArithmeticError, TypeError):
            raise Unplayable from None
    if (found := leaf(formula)) is None:
        raise Unplayable
    return found


def interval(test: Formula, turn: int, *, arm: bool = True) -> int:
    """From one pass of the loop with this turn in which a test takes an arm to the next one: 4 for `i % 4 == 3`; 0 if unknown."""
    own = [part for part in test.within() if part.op == "pass"]
    if not own or test.period > STEPS or any(part.of != turn for part in own):
        return 0

    def in_pass(number: int) -> bool:
        return bool(_computed(test, lambda part: part.value if part.op != "pass" else number + (part.value or 0)))

    try:
        taken = [number for number in range(3 * test.period + 1) if in_pass(number) is arm]
    except Unplayable:
        return 0
    gaps = {after - before for before, after in pairwise(taken)}
    return gaps.pop() if len(gaps) == 1 else 0


def open_in(tests: list[Branch]) -> bool:
    """Whether a test depends on a setting without a known default."""
    return any(each.op == "setting" and each.value is None for each in formulas_in(tests))


def numbers_in(tests: list[Branch], setting: int) -> list[int]:
    """The numbers in tests, from 1: none of them has a window that is longer than all."""
    values = (
        setting if each.value is None else each.value for each in formulas_in(tests) if each.op in ("number", "setting")
    )
    return [int(abs(value)) for value in values if abs(value) >= 1]


def starts_unknown(events: Iterable[Event], tests: list[Branch]) -> bool:
    """Whether nobody knows what a counter in tests begins from."""
    counters = [event for event in events if isinstance(event, CounterChanged)]
    asked = {each.of for each in formulas_in(tests) if each.op == "counter"}
    first = {event.counter: event for event in reversed(counters)}
    return any(
        first[event.counter].by is not None and first[event.counter].value is None
        for event in counters
        if event.index in asked
    )


def formulas_in(tests: list[Branch]) -> Iterator[Formula]:
    """Yield the formulas of tests, and those within them."""
    for branch in tests:
        if branch.test is not None:
            yield from branch.test.within()


def places_of(event: Event) -> set[Site]:
    """The headers of the loops that an event lies in."""
    return {scope.site for scope in event.scope.iterations()}
