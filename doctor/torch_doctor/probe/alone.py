"""What a run proves whose script did not come to its training loop, so that what failed before it was left out.

Nobody knows what these statements would have done: set a mode, freeze a layer, clear gradients. What happens in the loop
itself, from one pass to the next, they have no part in; the source shows the rest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.rule import Evidence, Verdict, same_place
from torch_doctor.trace import EVENTS, ScopeKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch_doctor.rule import Finding, Rule
    from torch_doctor.trace import Scope, Site, Trace


LONGEST = 120  # characters of an exception


def limited(findings: Sequence[Finding], trace: Trace, rules: Sequence[Rule]) -> tuple[Finding, ...]:
    """The findings, with verdicts only on those that nothing before the loop can excuse."""
    inside = {rule.code for rule in rules if rule.inside}
    return tuple(_limited(each, trace, inside) for each in findings)


def words(trace: Trace) -> str:
    """What was run alone: "`train` was run alone"."""
    steps = trace.of(EVENTS["Stepped"])
    return f"{_unit(steps[0].scope) if steps else 'the training loop'} was run alone"


def reason(trace: Trace) -> str:
    """What kept the script from its training loop: the first failure that was left out; empty where none did.

    Where the script came to its end, only what was called with placeholders has failed.
    """
    first = next(iter(trace.run.left_out if trace.run is not None and trace.ended is None else ()), None)
    if first is None:
        return ""
    said = " ".join(first.exception.split())[:LONGEST]
    return f" ({said}, {first.frames[-1].site.path}:{first.frames[-1].site.row})" if first.frames else f" ({said})"


def _unit(scope: Scope) -> str:
    """The function with the innermost loop around a scope; the loop itself, where it lies in no function."""
    unit, name = "the training loop", ""
    for each in scope.chain():
        if each.kind is ScopeKind.CALL:
            name = each.name
        elif each.kind is ScopeKind.ITERATION:
            unit = f"`{name}`" if name else f"the loop at {each.site.path}:{each.site.row}"
    return unit


def _limited(finding: Finding, trace: Trace, inside: set[str]) -> Finding:
    how = f"the script did not reach its training loop; {words(trace)}"
    why = f"{how}, so what comes before it is unknown"
    if finding.verdict is Verdict.CONFIRMED and finding.code in inside and not finding.condition:
        put = trace.run.interposed if trace.run is not None else []
        if put:
            why = f"{how}, and what is at {put[0]} may change what it does: put hooks or other methods in place"
        elif _is_whole(finding.site, trace):
            return finding.with_verdict(Verdict.CONFIRMED, (*finding.evidence, Evidence(how)))
    elif finding.verdict not in (Verdict.CONFIRMED, Verdict.REFUTED):
        return finding
    return finding.with_verdict(Verdict.UNDECIDED, (Evidence(why),))


def _is_whole(site: Site, trace: Trace) -> bool:
    """Whether all that happened at a place did so in a loop in which nothing was left out."""
    broken = {(each.path, each.cell, each.row) for each in trace.run.broken} if trace.run is not None else set()
    at = [event.scope.iterations() for event in trace.events if same_place(site, event.site)]
    loops = [around[-1].site if around else None for around in at]
    return bool(loops) and all(each is not None and (each.path, each.cell, each.row) not in broken for each in loops)
