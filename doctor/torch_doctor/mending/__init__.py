"""Applies fixes in memory, scans the result, and withholds a fix that would cause another finding."""

from __future__ import annotations

from torch_doctor.mending.proving import proved, verdicts
from torch_doctor.mending.rounds import Key, Mended, in_rounds, with_proposals
from torch_doctor.mending.verifying import Compared, Comparison
from torch_doctor.mending.withholding import harmless, without_harm

__all__ = [
    "Compared",
    "Comparison",
    "Key",
    "Mended",
    "harmless",
    "in_rounds",
    "proved",
    "verdicts",
    "with_proposals",
    "without_harm",
]
