"""What a checkup says beside its rungs: why the script failed, and facts about a script that may well be right."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.probe.torch_errors import advice as explained
from torch_doctor.rule import Verdict
from torch_doctor.trace import UnitsSeen

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from torch_doctor.checkup.outcome import Rung
    from torch_doctor.rule import Finding
    from torch_doctor.trace import Trace

GROUP = "advice"
"""The group of the facts in rungs that are advice."""
DEAD = 0.6
"""Share of the units of an activation that are always zero, from which on it is said; a rule reports nearly all."""
FEWEST_UNITS, FEWEST_ROWS, FEWEST_BATCHES = 8, 64, 3
"""Units, samples and batches without which a unit that is always zero means nothing."""


def cause(trace: Trace | None) -> str:
    """Return the cause of the error that ended the script and what to do, as far as it is known."""
    return "" if trace is None else explained(trace).removeprefix("cause: ")


def advice(rungs: Sequence[Rung], trace: Trace | None, findings: Sequence[Finding]) -> list[str]:
    """Return the facts of the rungs and of the trace, those that a finding reports left out."""
    found = [f"{each.label}: {each.value}" for rung in rungs for each in rung.evidence if each.group == GROUP]
    reported = {each.site for each in findings if each.verdict is not Verdict.REFUTED}
    return [*found, *(text for site, text in _dead(trace) if site not in reported)]


def _dead(trace: Trace | None) -> Iterator[tuple[object, str]]:
    """Yield the activations most of whose units are always zero."""
    for seen in trace.of(UnitsSeen) if trace is not None else ():
        enough = seen.units >= FEWEST_UNITS and seen.rows >= FEWEST_ROWS and seen.batches >= FEWEST_BATCHES
        if enough and seen.dead >= DEAD * seen.units:
            text = f"dead units: {seen.dead} of {seen.units} units of `{seen.name}` at {seen.site} are zero in all "
            yield seen.site, f"{text}{seen.rows} samples of {seen.batches} batches"
