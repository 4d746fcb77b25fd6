"""What a run says of the findings that the source gave, and what it finds besides."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from torch_doctor.probe import Ways, judge, merged, unsaid
from torch_doctor.rule import Evidence, Finding, Level, Rule, Verdict
from torch_doctor.trace import Broken, End, Frame, GaveUp, Meant, Run, Scope, ScopeKind, Site, StandIn, Subject, Trace

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

HERE, THERE = Site("train.py", 5, 9, 5, 24), Site("train.py", 8, 1, 8, 10)
FAILED = End(how="exception", exception="KeyError: 3", frames=(Frame(THERE, "<module>", "rows[3]"),))


class Example(Rule):
    """Sees what it is told to see, and knows what was reached."""

    code = "TDR101"
    name = "example"
    level = Level.ERROR
    witness = "SP"

    def __init__(self, *seen: Site, reached: bool | str = False) -> None:
        self.seen = seen
        self.is_reached = reached

    def check(self, trace: Trace) -> Iterator[Finding]:
        for site in self.seen if trace.observed else (HERE,):
            yield self.finding(site, "something is wrong")

    def reached(self, trace: Trace, finding: Finding) -> bool | str:  # noqa: ARG002
        return self.is_reached

    def evidence(self, trace: Trace, finding: Finding) -> Iterable[Evidence]:  # noqa: ARG002
        return [Evidence(f"seen {len(self.seen)} times", len(self.seen), "times", finding.site)]


class Other(Example):
    """Another rule."""

    code = "TDR402"
    name = "other"


class Static(Other):
    """A rule of the source alone."""

    witness = "S"


class Failing(Example):
    """A rule with a bug."""

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        return super().reached(trace, finding) if trace.path == "" else bool(1 // 0)


def run(*stand_ins: StandIn) -> Trace:
    return Trace("train.py", run=Run(stand_ins=list(stand_ins)))


def static(rule: Rule) -> list[Finding]:
    return list(rule.check(Trace("train.py")))


def test_what_the_run_shows_at_the_same_place_is_confirmed_with_its_number() -> None:
    rule = Example(HERE)
    judgement = judge(static(rule), run(), [rule])
    (finding,) = judgement.judged
    assert finding.verdict is Verdict.CONFIRMED
    assert finding.evidence == (Evidence("seen 1 times", 1, "times", HERE),)
    assert finding.witness == "static"
    assert judgement.new == ()


def test_a_place_over_several_rows_is_met_by_any_of_them() -> None:
    rule = Example(HERE._replace(row=7, end_row=7))
    finding = replace(static(rule)[0], site=HERE._replace(end_row=9))
    assert judge([finding], run(), [rule]).judged[0].verdict is Verdict.CONFIRMED


@pytest.mark.parametrize(
    ("reached", "verdict", "claims"),
    [
        (True, Verdict.REFUTED, ["seen 0 times"]),
        (False, Verdict.NOT_REACHED, ["the probe run did not reach this line: it was stopped"]),
        ("perhaps on purpose", Verdict.UNDECIDED, ["perhaps on purpose"]),
    ],
)
def test_what_the_run_does_not_show(reached: bool | str, verdict: Verdict, claims: list[str]) -> None:
    rule = Example(reached=reached)
    (finding,) = judge(static(rule), run(), [rule]).judged
    assert finding.verdict is verdict
    assert [evidence.claim for evidence in finding.evidence] == claims


def test_a_run_that_left_out_a_way_to_the_finding_refutes_nothing() -> None:
    rule, source = Example(reached=True), Trace("train.py")
    scope = Scope(ScopeKind.ROOT, HERE)
    source.add(GaveUp(site=HERE, scope=Scope(ScopeKind.CALL, HERE, scope, called_at=THERE), reason="too deep"))
    trace = Trace("train.py", run=Run(marked={THERE}))
    (finding,) = judge(static(rule), trace, [rule], Ways([source])).judged
    assert finding.verdict is Verdict.NOT_REACHED
    assert [evidence.claim for evidence in finding.evidence] == ["the probe run did not reach this line via train.py:8"]


@pytest.mark.parametrize("reached", [True, "perhaps on purpose"])
def test_what_hides_behind_a_broken_part_is_not_refuted(reached: bool | str) -> None:
    rule = Example(reached=reached)
    hidden = [
        replace(found, behind=(Broken(THERE, Meant.CALLED, "TDR111", "method-not-called"),)) for found in static(rule)
    ]
    (found,) = judge(hidden, run(), [rule]).judged
    assert found.verdict is Verdict.UNDECIDED
    assert [each.claim for each in found.evidence] == ["TDR111 method-not-called at train.py:8 hides it at run time"]


def test_a_rule_that_does_not_know_what_was_reached_refutes_nothing() -> None:
    class Plain(Example):
        reached = Rule.reached

    (finding,) = judge(static(Plain()), run(), [Plain()]).judged
    assert finding.verdict is Verdict.UNDECIDED


def test_what_the_run_alone_shows_is_a_finding_of_the_probe() -> None:
    rule = Example(HERE, THERE)
    judgement = judge(static(rule), run(), [rule])
    (new,) = judgement.new
    assert (new.site, new.witness, new.verdict) == (THERE, "probe", Verdict.CONFIRMED)


@pytest.mark.parametrize(("how", "told"), [("end", 1), ("exit", 1), ("stopped", 0), ("exception", 0), ("killed", 0)])
def test_what_is_missing_in_a_run_that_broke_off_might_have_come_later(how: str, told: int) -> None:
    rule = Example(HERE, THERE)
    rule.needs_end = True  # type: ignore[misc]
    judgement = judge(static(rule), Trace("train.py", run=Run(end=End(how=how))), [rule])
    assert judgement.judged[0].verdict is Verdict.CONFIRMED
    assert len(judgement.new) == told


def test_one_cause_is_one_finding() -> None:
    rule, other = Example(HERE), Other(THERE)
    other.explained_by = frozenset(("TDR101",))  # type: ignore[misc]
    assert judge([], run(), [rule, other]).new[0].code == "TDR101"
    assert len(judge([], run(), [rule, other]).new) == 1
    assert [finding.code for finding in judge([], run(), [other]).new] == ["TDR402"]


def test_findings_of_one_file_explain_none_of_another() -> None:
    rule, other = Example(HERE), Other(THERE._replace(path="other.py"))
    other.explained_by = frozenset(("TDR101",))  # type: ignore[misc]
    assert [finding.code for finding in judge([], run(), [rule, other]).new] == ["TDR101", "TDR402"]
    assert [finding.code for finding in judge(static(rule), run(), [rule, other]).new] == ["TDR402"]


@pytest.mark.parametrize(("came", "verdict"), [(False, Verdict.NOT_REACHED), (True, Verdict.CONFIRMED)])
def test_the_like_of_a_finding_elsewhere_is_no_witness_for_it_where_the_run_did_not_come(
    came: bool, verdict: Verdict
) -> None:
    class Alike(Example):
        def same(self, finding: Finding, seen: Finding) -> bool:  # noqa: ARG002 - as one loss that both lead to
            return True

    trace = Trace(
        "train.py", run=Run(end=End(how="end"), marked={HERE, THERE}, passed={HERE, THERE} if came else {THERE})
    )
    rule = Alike(THERE)
    other = replace(static(rule)[0], site=THERE)
    first, second = judge([*static(rule), other], trace, [rule]).judged
    assert (first.verdict, second.verdict) == (verdict, Verdict.CONFIRMED)


def test_a_refuted_finding_explains_nothing() -> None:
    rule, other = Example(reached=True), Other(THERE)
    other.explained_by = frozenset(("TDR101",))  # type: ignore[misc]
    assert [finding.code for finding in judge(static(rule), run(), [rule, other]).new] == ["TDR402"]


def test_a_rule_of_the_source_alone_gets_no_verdict() -> None:
    rule = Static(HERE)
    judgement = judge(static(rule), run(), [rule])
    assert judgement.judged[0].verdict is None
    assert judgement.new == ()


def test_what_a_stand_in_makes_meaningless_is_undecided_and_never_passed() -> None:
    rule = Example(HERE, THERE, reached=True)
    rule.voided_by = frozenset(("values",))  # type: ignore[misc]
    stand_in = StandIn(what="MNIST", why="not there", how="64 synthetic rows", voids=frozenset(("values",)))
    judgement = judge(static(rule), run(stand_in), [rule])
    (finding,) = judgement.judged
    assert finding.verdict is Verdict.UNDECIDED
    assert finding.evidence[0].claim == "the probe used 64 synthetic rows instead of `MNIST` (not there)"
    assert judgement.new == ()
    assert judgement.void == (("TDR101 example", stand_in),)


@pytest.mark.parametrize(
    ("subject", "counts"),
    [
        (None, True),
        (Subject("anything", lambda trace: trace.path == "train.py"), True),
        (Subject("nothing", lambda trace: trace.path == "other.py"), False),
    ],
    ids=["training", "there", "not there"],
)
def test_what_cannot_be_judged_counts_where_the_script_has_what_the_rule_is_about(
    subject: Subject | None, *, counts: bool
) -> None:
    rule = Example(HERE, THERE, reached=True)
    rule.voided_by = frozenset(("values",))  # type: ignore[misc]
    rule.subject = subject  # type: ignore[misc]
    trace = run(StandIn(what="MNIST", why="not there", how="64 synthetic rows", voids=frozenset(("values",))))
    assert bool(judge((), trace, [rule]).void) is counts
    assert judge(static(rule), trace, [rule]).void
    said = unsaid(trace, judge((), trace, [rule]))
    assert said == ("train.py: 1 check needs real data (`torch-doctor scan --probe -v` lists them)" if counts else "")


def test_checks_that_need_something_else_than_data_are_counted_without_naming_data() -> None:
    rules = [Example(HERE, THERE, reached=True), Other(HERE)]
    rules[0].voided_by, rules[1].voided_by = frozenset(("values",)), frozenset(("workers",))  # type: ignore[misc]
    data = StandIn(what="MNIST", why="data not found", how="64 samples", voids=frozenset(("values",)))
    workers = StandIn(what="workers", why="num_workers=2", how="one process", voids=frozenset(("workers",)))
    trace = run(data, workers)
    assert unsaid(trace, judge((), trace, rules)) == (
        "train.py: 2 checks cannot be judged with substitutes (`torch-doctor scan --probe -v` lists them)"
    )


def test_a_stand_in_for_something_else_changes_nothing() -> None:
    rule = Example(HERE)
    rule.voided_by = frozenset(("values",))  # type: ignore[misc]
    stand_in = StandIn(what="wandb", why="experiment tracker", how="calls that log nothing", voids=frozenset(("log",)))
    assert judge(static(rule), run(stand_in), [rule]).judged[0].verdict is Verdict.CONFIRMED


def test_a_rule_that_fails_speaks_neither_for_nor_against_and_the_others_speak() -> None:
    failing, other = Failing(), Other(HERE)
    judgement = judge([*static(failing), *static(other)], run(), [failing, other])
    assert [finding.verdict for finding in judgement.judged] == [Verdict.UNDECIDED, Verdict.CONFIRMED]
    ((code, error),) = judgement.failures
    assert (code, type(error)) == ("TDR101", ZeroDivisionError)


@pytest.mark.parametrize(
    ("first", "second", "both"),
    [
        (Verdict.CONFIRMED, Verdict.REFUTED, Verdict.CONFIRMED),
        (Verdict.REFUTED, Verdict.CONFIRMED, Verdict.CONFIRMED),
        (Verdict.NOT_REACHED, Verdict.REFUTED, Verdict.REFUTED),
        (Verdict.UNDECIDED, Verdict.REFUTED, Verdict.UNDECIDED),
        (Verdict.NOT_REACHED, Verdict.NOT_REACHED, Verdict.NOT_REACHED),
        (None, Verdict.REFUTED, Verdict.REFUTED),
    ],
)
def test_what_one_run_saw_no_other_takes_back(first: Verdict | None, second: Verdict, both: Verdict) -> None:
    (finding,) = static(Example())
    judged = finding if first is None else finding.with_verdict(first, (Evidence("first"),))
    result = merged(judged, finding.with_verdict(second, (Evidence("second"),)))
    assert result.verdict is both
    assert result.evidence[0].claim == ("first" if both is first else "second")


@pytest.mark.parametrize(
    ("end", "came", "why"),
    [
        (End(how="end"), False, "the probe run did not reach this line"),
        (End(how="stopped"), False, "the probe run did not reach this line: it was stopped"),
        (FAILED, False, "the probe run did not reach this line: it failed at train.py:8"),
        (FAILED, True, "the probe run reached this line, but failed at train.py:8 before the bug could occur"),
        (End(how="end"), True, "the probe run had no second pass"),
    ],
)
def test_the_reason_why_a_run_is_no_witness_is_its_own(end: End, came: bool, why: str) -> None:
    class Shown(Example):
        shown_by = "second pass"

    trace = Trace("train.py", run=Run(end=end, marked={HERE}, passed={HERE} if came else set()))
    (finding,) = judge(static(Shown()), trace, [Shown()]).judged
    assert [evidence.claim for evidence in finding.evidence] == [why]


def test_a_run_in_which_something_may_be_missing_says_nothing() -> None:
    trace = Trace("train.py", run=Run(doubt="an instrument failed"))
    judgement = judge(static(Example(HERE)), trace, [Example(HERE, THERE), Other(THERE)])
    assert [(each.verdict, each.evidence[0].claim) for each in judgement.judged] == [
        (Verdict.UNDECIDED, "an instrument failed")
    ]
    assert judgement.new == ()


def test_a_run_that_tested_what_was_made_up_only_confirms() -> None:
    stand_in = StandIn(what="what line 3 tests", why="unread", how="a placeholder", voids=frozenset(("tests",)))
    rule, elsewhere = Example(HERE), Example(THERE, reached=True)
    confirmed = judge(static(rule), run(stand_in), [rule])
    assert [each.verdict for each in confirmed.judged] == [Verdict.CONFIRMED]
    other = judge(static(elsewhere), run(stand_in), [elsewhere])
    assert [each.verdict for each in other.judged] == [Verdict.UNDECIDED]
    assert other.new == ()
    assert judge(static(elsewhere), run(), [elsewhere]).judged[0].verdict is Verdict.REFUTED


def test_settings_that_were_made_up_leave_all_open() -> None:
    stand_in = StandIn(what="settings.json.rate", why="not found", how="0.01", voids=frozenset(("choices",)))
    rule = Example(HERE)
    assert [each.verdict for each in judge(static(rule), run(stand_in), [rule]).judged] == [Verdict.UNDECIDED]


def test_what_is_in_a_file_that_did_not_run_is_none_of_its_substitutes_business() -> None:
    stand_in = StandIn(what="settings.json.rate", why="not found", how="0.01", voids=frozenset(("choices",)))
    rule = Example(HERE)
    trace = Trace("other.py", run=Run(stand_ins=[stand_in]))
    (finding,) = judge(static(rule), trace, [rule]).judged
    assert finding.verdict is Verdict.NOT_REACHED
    (finding,) = judge(static(rule), Trace("other.py", run=Run(stand_ins=[stand_in], passed={HERE})), [rule]).judged
    assert finding.verdict is Verdict.UNDECIDED
