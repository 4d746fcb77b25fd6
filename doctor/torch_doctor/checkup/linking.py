"""Which rules explain the failure of which rung."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.checkup.symptoms import SYMPTOMS
from torch_doctor.rule import Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch_doctor.checkup.outcome import Rung
    from torch_doctor.rule import Finding

OVERFIT = "overfit-one-batch"
ENOUGH = 100
"""Updates after which a batch is memorised where everything is right and the learning rate is alive."""

EXPLAINING = {
    "inspect": ("TDR7",),
    "baseline": ("TDR2", "TDR3", "TDR7"),
    "overfit-one-batch": ("TDR1", "TDR2", "TDR3"),
    "small-subset": ("TDR4", "TDR5", "TDR7"),
    "learning-rate": ("TDR1",),
    "repeatability": ("TDR3", "TDR4", "TDR6", "TDR7", "TDR9"),
    "device": ("TDR8",),
    "throughput": ("TDR5", "TDR7", "TDR8", "TDR9"),
    "non-finite": ("TDR1", "TDR2", "TDR3"),
    "errors": ("TDR2", "TDR7"),
    "receipt": ("TDR6", "TDR9"),
}
"""The beginnings of the codes of the rules, by the name of the rung."""


def explaining(rung: str, findings: Sequence[Finding]) -> list[Finding]:
    """The findings that explain why a rung failed; those that were refuted do not."""
    codes = EXPLAINING[rung]
    return [each for each in findings if each.code.startswith(codes) and each.verdict is not Verdict.REFUTED]


def preventing(rung: Rung, findings: Sequence[Finding]) -> list[Finding]:
    """The confirmed findings because of which a batch cannot be memorised, where the rung itself had no verdict.

    None where too few updates fitted into the time.
    """
    updates = next((fact.value for fact in rung.evidence if fact.label == "updates"), 0)
    if rung.name != OVERFIT or rung.status != "shown" or not isinstance(updates, int) or updates < ENOUGH:
        return []
    codes = {code for cause in SYMPTOMS[0].causes if OVERFIT in cause.rungs for code in cause.codes}
    return [each for each in findings if each.code in codes and each.verdict is Verdict.CONFIRMED]
