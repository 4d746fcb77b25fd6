"""Which rules explain which failure of a rung."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from torch_doctor.checkup.symptoms import SYMPTOMS
from torch_doctor.rule import Level, Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch_doctor.checkup.outcome import Rung
    from torch_doctor.rule import Finding

OVERFIT, RECEIPT = "overfit-one-batch", "receipt"
RESUMES = "TDR605"
TRIAGE, REFERENCE = "non-finite", "see non-finite"
"""The rung that locates values that are not finite, and how others refer to it."""
OF_DATA = "data not finite"
UNLOCATED = (
    "the NaN triage did not meet the value again: check divisions, logarithms, exponentials and the learning rate"
)
ENOUGH = 100
"""Updates after which a batch is memorised where everything is right and the learning rate is alive."""

_UPDATES = (
    "TDR101",
    "TDR102",
    "TDR103",
    "TDR104",
    "TDR105",
    "TDR111",
    "TDR113",
    "TDR115",
    "TDR116",
    "TDR122",
    "TDR128",
)
_PARAMETERS = (
    *("TDR114", "TDR117", "TDR118", "TDR119"),
    *("TDR301", "TDR302", "TDR304", "TDR307", "TDR308", "TDR309", "TDR310", "TDR311", "TDR312", "TDR313"),
)
_LOSSES = (
    "TDR201",
    "TDR203",
    "TDR204",
    "TDR205",
    "TDR206",
    "TDR207",
    "TDR208",
    "TDR209",
    "TDR211",
    "TDR213",
    "TDR214",
    "TDR216",
    "TDR220",
    "TDR221",
)
_NOT_FINITE = (
    "TDR101",
    "TDR109",
    "TDR120",
    "TDR121",
    "TDR203",
    "TDR205",
    "TDR210",
    "TDR211",
    "TDR219",
    "TDR711",
    "TDR715",
    "TDR805",
)
_GRAPHS = ("TDR402", "TDR501", "TDR502", "TDR503", "TDR504", "TDR505", "TDR506")
EXPLAINING = {
    "data not finite": (),
    "labels": ("TDR207", "TDR213"),
    "order": ("TDR701", "TDR710"),
    "split": (),
    "shared rows": ("TDR707", "TDR708"),
    "not finite": _NOT_FINITE,
    "too high": (*_LOSSES, "TDR309", "TDR711", "TDR715"),
    "probabilities": ("TDR201",),
    "does not fall": (*_UPDATES, *_PARAMETERS, *_LOSSES, "TDR306", "TDR403", "TDR711", "TDR715"),
    "steps too large": (
        "TDR101",
        "TDR106",
        "TDR108",
        "TDR109",
        "TDR110",
        "TDR121",
        "TDR123",
        "TDR131",
        "TDR711",
        "TDR715",
    ),
    "steps too small": ("TDR109", "TDR110", "TDR121", "TDR123", "TDR132", "TDR309"),
    "kept graphs": _GRAPHS,
    "slower": (*_GRAPHS, "TDR122"),
    "drops in evaluation": ("TDR304", "TDR306", "TDR314", "TDR401", "TDR406"),
    "other rows": ("TDR216", "TDR220", "TDR221", "TDR314", "TDR401", "TDR406"),
    "loading": ("TDR301", "TDR302", "TDR303", "TDR304", "TDR307", "TDR308", "TDR602", "TDR606", "TDR608"),
    "resuming": ("TDR122", "TDR303", "TDR602", "TDR605", "TDR608"),
    "metric": ("TDR214", "TDR405", "TDR407", "TDR408", "TDR409", "TDR410", "TDR411", "TDR412"),
    "precision": ("TDR210", "TDR219", "TDR805", "TDR810"),
    "devices": ("TDR210", "TDR801", "TDR802", "TDR803", "TDR810"),
    "compiler": (),
    "loader": ("TDR703", "TDR705"),
    "loop": ("TDR505", "TDR808", "TDR903", "TDR905"),
    "checkpoint": ("TDR303", "TDR601", "TDR602", "TDR605", "TDR606", "TDR608", "TDR610"),
}
"""The codes of the rules that find what makes a rung fail, by the kind of its failure."""

DOUBTING = {
    "inspect": ("shared rows",),
    "small-subset": ("does not fall",),
    "learning-rate": ("does not fall",),
    "repeatability": ("drops in evaluation", "other rows", "loading", "resuming"),
    "device": ("precision", "devices"),
    "metric": ("metric",),
}
"""The kinds of failures that a rung says there are none of, or during which what it measures means little, by its name."""


def explaining(about: Sequence[str], findings: Sequence[Finding]) -> list[Finding]:
    """Return the findings that explain failures of these kinds: not what is refuted, or needs other settings than the run's."""
    codes = {code for kind in about for code in EXPLAINING.get(kind, ())}
    return [
        each
        for each in findings
        if each.code in codes
        and each.verdict is not Verdict.REFUTED
        and (not each.condition or each.verdict is Verdict.CONFIRMED)
    ]


def doubting(rung: Rung, findings: Sequence[Finding]) -> list[Finding]:
    """The confirmed errors that a rung which passed speaks against."""
    if rung.status != "passed":
        return []
    serious = [each for each in findings if each.verdict is Verdict.CONFIRMED and each.level is Level.ERROR]
    return explaining(DOUBTING.get(rung.name, ()), serious)


def preventing(rung: Rung, findings: Sequence[Finding]) -> list[Finding]:
    """The confirmed findings because of which a batch cannot be memorised, where the rung itself had no verdict.

    None where too few updates fitted into the time. As well those because of which a run cannot go on from its checkpoint, which
    only the run of the whole script shows.
    """
    if rung.name == RECEIPT and rung.status in {"passed", "shown"}:
        return [each for each in findings if each.code == RESUMES and each.verdict is Verdict.CONFIRMED]
    updates = next((fact.value for fact in rung.evidence if fact.label == "optimizer steps"), 0)
    if rung.name != OVERFIT or rung.status != "shown" or not isinstance(updates, int) or updates < ENOUGH:
        return []
    codes = {code for cause in SYMPTOMS[0].causes if OVERFIT in cause.rungs for code in cause.codes}
    return [each for each in findings if each.code in codes and each.verdict is Verdict.CONFIRMED]


def pointing(rungs: Sequence[Rung]) -> list[Rung]:
    """The rungs, in which those that refer to the NaN triage do so only if it failed: else it does not know where.

    Where it located the values in the data, they are a failure of the data in the other rungs, too.
    """
    triage = next((rung for rung in rungs if rung.name == TRIAGE and rung.status == "failed"), None)
    if triage is None:
        return [_without_triage(rung) for rung in rungs]
    if OF_DATA not in triage.about:
        return list(rungs)
    return [replace(rung, about=[OF_DATA if kind == "not finite" else kind for kind in rung.about]) for rung in rungs]


def _without_triage(rung: Rung) -> Rung:
    then = UNLOCATED if rung.next.startswith(REFERENCE) else rung.next
    return replace(rung, reason=rung.reason.partition(f": {REFERENCE}")[0], next=then)
