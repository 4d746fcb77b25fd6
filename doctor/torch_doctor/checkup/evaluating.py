"""Whether the script's own evaluation, in the mode that the script sets, gives the same twice: what the probe run repeated."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from torch_doctor.checkup.outcome import Fact
from torch_doctor.rule import Verdict, same_place
from torch_doctor.trace import Forward, Reevaluated, Source

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from torch_doctor.checkup.outcome import Rung
    from torch_doctor.rule import Finding
    from torch_doctor.trace import Site, Trace

REPEATABILITY = "repeatability"
KIND = "drops in evaluation"
"""The kind of failure that this is, as `linking` has it."""
CODES = frozenset({"TDR401", "TDR406"})
"""The rules that tell an evaluation that is wrong from one that is random on purpose: Monte Carlo dropout, sampling, rollouts."""
GROUP = "the script's own evaluation"
MODES = {True: "training", False: "evaluation", None: "unknown"}
MOST = 8
"""Places that are named."""


def with_evaluation(rung: Rung, trace: Trace | None, findings: Sequence[Finding]) -> Rung:
    """Return the rung with what the script's own evaluation gave when the probe repeated its forward passes.

    Each ran a second time on a copy of the model, with the same batch, other random numbers, and every module in the mode that
    the script had set. The rung fails where a rule confirmed that the mode is wrong. Where outputs differ for another reason,
    the rung has no verdict.
    """
    if rung.name != REPEATABILITY or trace is None:
        return rung
    forwards = {each.index: each for each in trace.of(Forward)}
    again = [each for each in trace.of(Reevaluated) if each.forward in forwards]
    evaluations = [(each, forwards[each.forward]) for each in again]
    rung = replace(rung, evidence=[*rung.evidence, *_facts(evaluations)])
    confirmed = [each for each in findings if each.code in CODES and each.verdict is Verdict.CONFIRMED]
    wrong = [each for each in confirmed if any(same_place(each.site, site) for site in _loaded(forwards.values()))]
    if wrong:
        reason = "; ".join(dict.fromkeys(_failure(each, again) for each in wrong))
        kept = [rung.reason] if rung.status == "failed" else []
        about = list(dict.fromkeys([*rung.about, KIND]))
        return replace(
            rung, status="failed", reason="; ".join([reason, *kept]), next=wrong[0].help or rung.next, about=about
        )
    if rung.status != "passed" or not again:
        return rung
    differing = [(each, forward) for each, forward in evaluations if each.because]
    if not differing:
        return replace(rung, reason=f"{rung.reason}; {GROUP} gives the same outputs twice")
    first, forward = differing[0]
    mode = "in training mode " if forward.training else ""
    said = f"`{first.name}` runs {mode}at {_place(first)}, outside training, and gives different outputs for the same batch"
    return replace(rung, status="shown", reason=f"{rung.reason}; {said}")


def _loaded(forwards: Iterable[Forward]) -> list[Site]:
    """The places that run a model on batches, or on a split that is held as one tensor."""
    return [each.site for each in forwards if each.inputs.source in {Source.LOADER, Source.DATA}]


def _facts(evaluations: list[tuple[Reevaluated, Forward]]) -> list[Fact]:
    """The mode and the largest difference of each place that evaluates."""
    places: dict[str, list[tuple[Reevaluated, Forward]]] = {}
    for each, forward in evaluations:
        places.setdefault(f"`{each.name}` at {_place(each)}", []).append((each, forward))
    found = []
    for place, own in list(places.items())[:MOST]:
        modes = {forward.training for _, forward in own}
        mode = "mixed" if len(modes) > 1 else MODES[modes.pop()]
        found.append(Fact(f"mode of {place}", mode, group=GROUP))
        far = max(each.difference for each, _ in own)
        found.append(Fact(f"difference when repeated, {place}", far, expected="0", group=GROUP))
    return found or [Fact("forward passes that evaluate", 0, group=GROUP)]


def _failure(finding: Finding, again: list[Reevaluated]) -> str:
    """What a wrong mode did to the same batch."""
    own = [each for each in again if same_place(finding.site, each.site)]
    far = max(own, key=lambda each: each.difference, default=None)
    if far is None or not far.difference:
        return f"{GROUP} at {finding.site.path}:{finding.site.row}: {finding.message}"
    numbers = f"{far.first:.4g} and {far.second:.4g}"
    return f"{GROUP} at {_place(far)} gives {numbers} for the same batch: {finding.message}"


def _place(event: Reevaluated) -> str:
    return f"{event.site.path}:{event.site.row}"
