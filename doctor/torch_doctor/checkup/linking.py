"""Which rules explain the failure of which rung."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.rule import Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch_doctor.rule import Finding

EXPLAINING = {
    "inspect": ("TDR7",),
    "baseline": ("TDR2", "TDR3", "TDR7"),
    "overfit-one-batch": ("TDR1", "TDR2", "TDR3"),
    "small-subset": ("TDR1", "TDR4", "TDR5", "TDR7"),
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
