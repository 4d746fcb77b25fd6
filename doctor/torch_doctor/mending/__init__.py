"""Applies fixes in memory, scans the result, and withholds a fix that would cause another finding."""

from __future__ import annotations

from torch_doctor.mending.rounds import Mended, in_rounds, with_proposals
from torch_doctor.mending.withholding import harmless, without_harm

__all__ = ["Mended", "harmless", "in_rounds", "with_proposals", "without_harm"]
