"""The questions that rules ask of a trace."""

from __future__ import annotations

import pytest

from torch_doctor.trace import (
    Branch,
    BranchKind,
    End,
    Event,
    Guards,
    LoopKind,
    Run,
    ScalerBuilt,
    ScalerUpdated,
    Scope,
    ScopeKind,
    Site,
    Trace,
)

HERE = Site("train.py", 1, 1, 1, 2)
ROOT = Scope(ScopeKind.ROOT, HERE)


def iteration(parent: Scope, loop: int, number: int) -> Scope:
    return Scope(ScopeKind.ITERATION, HERE, parent, loop=loop, number=number, loop_kind=LoopKind.BATCHES)


def happened(trace: Trace, scope: Scope = ROOT, guards: Guards = frozenset()) -> Event:
    return trace.add(ScalerUpdated(site=HERE, scope=scope, guards=guards, scaler=1))


def test_events_are_counted_and_found_by_their_class() -> None:
    trace = Trace("train.py")
    first, second = happened(trace), happened(trace)
    built = trace.add(ScalerBuilt(site=HERE, scope=ROOT, scaler=1, enabled=None))
    assert [event.index for event in trace.events] == [0, 1, 2]
    assert trace.of(ScalerUpdated) == [first, second]
    assert trace.of(ScalerBuilt) == [built]
    trace.clear()
    assert trace.of(ScalerUpdated) == trace.events == []


def test_numbers_of_earlier_runs_name_no_event_of_this_one() -> None:
    earlier = Trace("train.py")
    old = happened(earlier)
    trace = Trace("train.py", first=earlier.next)
    forgotten = happened(trace)
    trace.clear()
    first, second = happened(trace), happened(trace)
    assert list(trace.at(old.index, forgotten.index, second.index, 99)) == [second]
    assert trace.before(second) == [first]
    assert trace.after(first) == [second]


def test_between_leaves_out_both_ends_and_other_classes() -> None:
    trace = Trace("train.py")
    first, second, third, last = (happened(trace) for _ in range(4))
    trace.add(ScalerBuilt(site=HERE, scope=ROOT, scaler=1, enabled=None))
    assert list(trace.between(first, last, ScalerUpdated)) == [second, third]
    assert list(trace.between(last, first, ScalerUpdated)) == []
    assert list(trace.between(first, last, ScalerBuilt)) == []


@pytest.mark.parametrize(
    ("first", "second", "together", "implies"),
    [
        (set(), set(), True, True),
        ({(0, True)}, {(0, True)}, True, True),
        ({(0, True)}, {(0, False)}, False, False),
        ({(0, True)}, set(), True, True),
        (set(), {(0, True)}, True, False),
        ({(0, True), (1, False)}, {(1, False)}, True, True),
        ({(0, True)}, {(1, True)}, True, False),
    ],
)
def test_branches_say_what_can_and_what_must_happen_on_one_path(
    first: set[tuple[int, bool]], second: set[tuple[int, bool]], together: bool, implies: bool
) -> None:
    trace = Trace("train.py")
    cause, effect = happened(trace, guards=frozenset(first)), happened(trace, guards=frozenset(second))
    assert trace.together(cause, effect) is trace.together(effect, cause) is together
    assert trace.implies(cause, effect) is implies


def test_what_happens_every_so_many_passes_is_periodic() -> None:
    trace = Trace("train.py", branches=[Branch(HERE, BranchKind.FLAG), Branch(HERE, BranchKind.PERIODIC)])
    assert not trace.periodic(happened(trace, guards=frozenset({(0, True)})))
    assert trace.periodic(happened(trace, guards=frozenset({(0, True), (1, False)})))


def test_the_innermost_loop_that_two_events_share_is_found_from_the_first() -> None:
    trace = Trace("train.py")
    epoch = iteration(ROOT, 1, 1)
    batch, next_batch = iteration(epoch, 2, 1), iteration(epoch, 2, 2)
    other = iteration(epoch, 3, 1)
    call = Scope(ScopeKind.CALL, HERE, batch, name="step")
    inside, later, elsewhere, outside = (happened(trace, scope) for scope in (call, next_batch, other, ROOT))
    assert trace.common_loop(inside, later) is batch
    assert trace.common_loop(later, inside) is next_batch
    assert trace.common_loop(inside, elsewhere) is epoch
    assert trace.common_loop(inside, outside) is None


def test_two_events_lie_in_one_pass_or_in_two() -> None:
    trace = Trace("train.py")
    epoch, next_epoch = iteration(ROOT, 1, 1), iteration(ROOT, 1, 2)
    batch, next_batch = iteration(epoch, 2, 1), iteration(epoch, 2, 2)
    first = happened(trace, batch)
    assert trace.same_iteration(first, happened(trace, batch))
    assert not trace.same_iteration(first, happened(trace, next_batch))
    assert trace.same_iteration(first, happened(trace, iteration(epoch, 3, 1)))
    assert not trace.same_iteration(first, happened(trace, next_epoch))
    assert trace.same_iteration(first, happened(trace, ROOT))


def test_an_event_of_which_more_is_known_is_replaced_where_it_stands() -> None:
    trace = Trace("train.py")
    first = trace.add(ScalerBuilt(site=HERE, scope=ROOT, scaler=1, enabled=None))
    happened(trace)
    second = trace.add(ScalerBuilt(site=HERE, scope=ROOT, scaler=2, enabled=None))
    known = trace.replace(first, enabled=True)
    moved = trace.replace(first, scaler=3)
    assert (first.enabled, known.enabled, moved.enabled, moved.scaler) == (None, True, True, 3)
    assert trace.of(ScalerBuilt) == [moved, second]
    assert trace.events[0] is trace.latest(first) is moved
    assert trace.latest(second) is second


def test_an_event_of_an_earlier_run_is_not_replaced() -> None:
    trace = Trace("train.py")
    old = trace.add(ScalerBuilt(site=HERE, scope=ROOT, scaler=1, enabled=None))
    trace.clear()
    new = trace.add(ScalerBuilt(site=HERE, scope=ROOT, scaler=2, enabled=None))
    assert trace.latest(old) is old
    assert trace.replace(old, enabled=True).enabled is True
    assert trace.events == trace.of(ScalerBuilt) == [new]


def test_an_event_of_another_trace_is_added_under_a_number_of_its_own() -> None:
    other, trace = Trace("train.py"), Trace("train.py")
    happened(trace)
    event = happened(other)
    added = trace.add(event)
    assert (event.index, added.index) == (0, 1)
    assert trace.events[1] is added


def test_nobody_changes_an_event() -> None:
    event = happened(Trace("train.py"))
    with pytest.raises(AttributeError, match="immutable"):
        event.guards = frozenset({(0, True)})  # type: ignore[misc]  # what mypy refuses, too


@pytest.mark.parametrize(("how", "whole"), [("end", True), ("exit", True), ("stopped", False), ("exception", False)])
def test_a_run_that_breaks_off_went_on_from_what_lies_before_its_last_pass(how: str, whole: bool) -> None:
    trace = Trace("train.py", run=Run(end=End(how=how)))
    first, second = (happened(trace, iteration(ROOT, 1, number)) for number in (1, 2))
    outside = happened(trace)
    assert trace.went_on(first)
    assert trace.went_on(second) == trace.went_on(outside) == whole
