"""What a run says of each static finding, and what it found besides."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from msgspec.structs import replace

from torch_doctor.probe.alone import limited
from torch_doctor.probe.ways import Ways, came_to, seen_at
from torch_doctor.rule import Evidence, Verdict, same_place
from torch_doctor.trace import Run

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from torch_doctor.rule import Finding, Rule
    from torch_doctor.trace import Site, StandIn, Trace

WITNESS = "probe"
WEIGHT = (Verdict.CONFIRMED, Verdict.UNDECIDED, Verdict.REFUTED, Verdict.NOT_REACHED)
"""Of several runs that saw a finding, the first of these counts: what one run saw, no other run takes back."""
NOT_HERE = "the probe run did not reach this line"
SAW_NO = "the probe run had no "
NO_WAYS = Ways()
ANYTHING = ("actions", "choices")
"""What voids every rule: something stood in that was given a model or an optimizer, and may have done anything to it, or
settings by which the script may do anything else."""
TESTED = ("tests",)
"""What leaves open whether the script would have gone the same way: a run then confirms what the source shows, and no more."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """The static findings with their verdicts, in the order they came in, and the findings of the run alone.

    `void` are the rules that the run says nothing about although the script has what they are about, by code and name, each
    with the stand-in that is the reason.
    """

    judged: tuple[Finding, ...]
    new: tuple[Finding, ...]
    void: tuple[tuple[str, StandIn], ...] = ()
    failures: tuple[tuple[str, Exception], ...] = ()


def judge(findings: Sequence[Finding], trace: Trace, rules: Sequence[Rule], ways: Ways = NO_WAYS) -> Judgement:
    """Let the rules read what the probe saw.

    A static finding is confirmed by one of the same rule at the same place. Else the rule says whether the run came
    to where the bug would have shown. One cause is one finding: a rule whose findings others explain is silent
    where they spoke. `ways` tells how the source comes to its findings: who did not go there on all of them refutes
    none. A rule for which something stood in that has to be real says nothing, and no rule does where something may be
    missing in the trace. Where the script tested what was made up, the run confirms findings, but refutes and adds none. A rule
    that fails speaks neither for
    nor against its findings; its failure is in the result with its code. Where the training loop was run alone, only what
    happens within it counts, and what the script itself did if it came to its end.
    """
    if trace.run is not None and trace.run.doubt:
        ran = {rule.code for rule in rules if "P" in rule.witness}
        doubted = (_said(each, Verdict.UNDECIDED, trace.run.doubt) if each.code in ran else each for each in findings)
        return Judgement(tuple(doubted), ())
    verdicts = dict(enumerate(findings))
    new: list[Finding] = []
    void: list[tuple[str, StandIn]] = []
    failures: list[tuple[str, Exception]] = []
    for rule in rules:
        if "P" not in rule.witness:
            continue
        own = [number for number, finding in verdicts.items() if finding.code == rule.code]
        stand_in = trace.run.voids(*rule.voided_by, *ANYTHING) if trace.run is not None else None
        if stand_in is not None:
            if own or rule.subject is None or rule.subject.within(trace):
                void.append((f"{rule.code} {rule.name}", stand_in))
            verdicts.update({number: _void(verdicts[number], trace, stand_in) for number in own})
            continue
        try:
            said, found = _judged_by(rule, [verdicts[number] for number in own], trace, ways)
        except Exception as error:  # noqa: BLE001 - one rule's failure is not the others'
            failures.append((rule.code, error))
            said = [_said(verdicts[number], Verdict.UNDECIDED, "the rule crashed on this probe run") for number in own]
            found = []
        verdicts.update(zip(own, said, strict=True))
        new += found
    judged = tuple(verdicts.values())
    tested = trace.run.voids(*TESTED) if trace.run is not None else None
    if tested is not None:
        judged, new = tuple(_unless_refuted(each, f"the probe used {tested}") for each in judged), []
    if trace.run is not None and trace.run.alone:
        judged, new = limited(judged, trace, rules), []
        if trace.ended is not None:
            before = judge(findings, trace.ended, rules, ways)
            judged, new = tuple(map(_of_script, before.judged, judged)), [*before.new]
        return Judgement(judged, tuple(new), tuple(void), tuple(failures))
    return Judgement(judged, tuple(_unexplained(new, judged, rules)), tuple(void), tuple(failures))


def _of_script(whole: Finding, alone: Finding) -> Finding:
    """What the run of a whole script says of a finding; where that cannot tell, what the run of its loop alone says."""
    return whole if whole.verdict in (Verdict.CONFIRMED, Verdict.REFUTED) else alone


def merged(first: Finding, second: Finding) -> Finding:
    """One finding out of two on the same bug, of two runs, or of the static witness and a run."""
    verdicts = [finding for finding in (first, second) if finding.verdict is not None]
    if not verdicts:
        return first
    best = min(verdicts, key=_weight)
    return replace(first, verdict=best.verdict, evidence=best.evidence)


def _weight(finding: Finding) -> tuple[int, bool]:
    """Where a finding stands among those of several runs, the least first; one that came to the place tells more of it."""
    elsewhere = any(evidence.claim.startswith(NOT_HERE) for evidence in finding.evidence)
    return WEIGHT.index(finding.verdict or Verdict.NOT_REACHED), elsewhere


def _judged_by(
    rule: Rule, findings: Sequence[Finding], trace: Trace, ways: Ways
) -> tuple[list[Finding], list[Finding]]:
    seen = list(rule.check(trace))
    used: set[int] = set()
    judged = []
    for finding in findings:
        same = [number for number, other in enumerate(seen) if rule.same(finding, other)]
        if same and not _ran(finding, [seen[number] for number in same], trace):
            judged.append(_said(finding, Verdict.NOT_REACHED, _why_not(rule, finding, trace, ways)))
            continue
        if not same:
            judged.append(_not_seen(rule, finding, trace, ways))
            continue
        used.update(same)
        number = min(same, key=lambda number: seen[number].site != finding.site)  # at the very place if there is one
        judged.append(finding.with_verdict(Verdict.CONFIRMED, tuple(rule.evidence(trace, seen[number]))))
    alone = not (rule.needs_end and _broke_off(trace))
    known = {(seen[number].site.path, seen[number].cause) for number in used}
    new = [
        replace(finding, witness=WITNESS).with_verdict(Verdict.CONFIRMED, tuple(rule.evidence(trace, finding)))
        for number, finding in enumerate(seen)
        if number not in used and alone and rule.speaks_alone(trace, finding)
        if not finding.cause or (finding.site.path, finding.cause) not in known
    ]
    return judged, new


def _ran(finding: Finding, same: Sequence[Finding], trace: Trace) -> bool:
    """Whether the run came to the place of a finding, and did not only see the like of it elsewhere (in another class)."""
    sites = [each.site for each in (finding, *finding.members)]
    return any(same_place(site, other.site) for site in sites for other in same) or any(
        came_to(trace, site) for site in sites
    )


def _broke_off(trace: Trace) -> bool:
    """Whether the run did not come to its own end."""
    return trace.run is None or trace.run.end.how not in ("end", "exit")


def _unexplained(new: Sequence[Finding], judged: Sequence[Finding], rules: Iterable[Rule]) -> Iterable[Finding]:
    """The findings beside which none of the same file has their cause, and none at the same place says more."""
    spoke = defaultdict(set)
    standing = [finding for finding in (*new, *judged) if finding.verdict is not Verdict.REFUTED]
    for finding in standing:
        spoke[finding.site.path].add(finding.code)
    by_code = {rule.code: rule for rule in rules}
    for finding in new:
        rule = by_code[finding.code]
        yields = (same_place(other.site, finding.site) for other in standing if other.code in rule.yields_to)
        if not rule.explained_by & spoke[finding.site.path] and not any(yields):
            yield finding


def _not_seen(rule: Rule, finding: Finding, trace: Trace, ways: Ways) -> Finding:
    reached = rule.reached(trace, finding)
    if reached and finding.condition:
        return _said(finding, Verdict.NOT_REACHED, f"it shows {finding.condition}")
    if reached and finding.behind:
        return _said(finding, Verdict.UNDECIDED, f"{_cause(finding)} hides it at run time")
    if isinstance(reached, str):
        return _said(finding, Verdict.UNDECIDED, reached)
    if reached and (missed := ways.left_out(finding, trace)) is not None:
        return _said(finding, Verdict.NOT_REACHED, f"{NOT_HERE} via {_row(missed)}")
    if reached:
        return finding.with_verdict(Verdict.REFUTED, tuple(rule.evidence(trace, finding)))
    return _said(finding, Verdict.NOT_REACHED, _why_not(rule, finding, trace, ways))


def _why_not(rule: Rule, finding: Finding, trace: Trace, ways: Ways) -> str:
    """Why a run is no witness for or against a finding that it did not reach."""
    run = trace.run or Run()
    came = run.came_to(finding.site)
    if came is None:
        came = bool(seen_at(trace, finding.site))
    ended = "was stopped" if run.end.how in ("stopped", "killed") else ""
    if run.end.how == "exception" and run.end.frames:
        ended = f"failed at {_row(run.end.frames[-1].site)}"
    if not came:
        return f"{NOT_HERE}{f': it {ended}' * bool(ended)}"
    if ended:
        return f"the probe run reached this line, but {ended} before the bug could occur"
    if (missed := ways.left_out(finding, trace)) is not None:
        return f"{NOT_HERE} via {_row(missed)}"
    hidden = f": {_cause(finding)} prevents it" if finding.behind else ""
    return f"{SAW_NO}{rule.shown_by or 'conditions under which the bug would occur'}{hidden}"


def _cause(finding: Finding) -> str:
    """The bug that a finding hides behind."""
    cause = finding.behind[0]
    return f"{cause.code} {cause.name} at {_row(cause.site)}"


def _void(finding: Finding, trace: Trace, stand_in: StandIn) -> Finding:
    """A finding of a rule that this run cannot judge; one that is in no file of this run is none of its business."""
    sites = [each.site for each in (finding, *finding.members)]
    if not any(site.path == trace.path or (trace.run or Run()).came_to(site) or seen_at(trace, site) for site in sites):
        return _said(finding, Verdict.NOT_REACHED, NOT_HERE)
    return _said(finding, Verdict.UNDECIDED, f"the probe used {stand_in}")


def _unless_refuted(finding: Finding, reason: str) -> Finding:
    return _said(finding, Verdict.UNDECIDED, reason) if finding.verdict is Verdict.REFUTED else finding


def _said(finding: Finding, verdict: Verdict, reason: str) -> Finding:
    return finding.with_verdict(verdict, (Evidence(reason),))


def _row(site: Site) -> str:
    cell = "" if site.cell is None else f"cell {site.cell}:"
    return f"{site.path}:{cell}{site.row}"
