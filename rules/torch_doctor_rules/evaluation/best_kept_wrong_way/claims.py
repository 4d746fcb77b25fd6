"""What a finding says of the figures that are compared at its place, and whether a run shows it."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, NamedTuple

from torch_doctor.trace import HIGHER, LOWER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch_doctor.trace import BestCompared, FiguresCompared


class Claim(NamedTuple):
    """Which figures are better and which are kept, which side of the comparison they are, and whether the best is renewed."""

    better: str
    kept: str
    side: str
    renewed: str

    def __str__(self) -> str:
        return " ".join(self)


CLAIMS = [
    Claim(*words) for words in product((LOWER, HIGHER), (LOWER, HIGHER), ("left", "right", "all"), ("renewed", "never"))
]
"""All of them: a run does not tell which one the source makes."""


def claim_of(event: BestCompared) -> Claim:
    """Return what the source says of a comparison."""
    side = "all" if event.at_once else "left" if event.first else "right"
    return Claim(event.better, event.kept, side, "renewed" if event.renewed else "never")


def claim_in(cause: str) -> Claim | None:
    """Return the claim that a cause ends with."""
    return next((claim for claim in CLAIMS if cause.endswith(f" {claim}")), None)


def figures_and_kept(claim: Claim, seen: Sequence[FiguresCompared]) -> tuple[list[float], float | None]:
    """Return the figures that a run compared, and the one that is kept at the end; None if none is."""
    if claim.side == "all":
        figures = list(seen[-1].left)
        return figures, max(figures) if seen[-1].sign == "max" else min(figures)
    pairs = [(each.left[0], each.right) if claim.side == "left" else (each.right, each.left[0]) for each in seen]
    kept = [figure for figure, best in pairs if (figure > best if claim.kept == HIGHER else figure < best)]
    return [figure for figure, _ in pairs], kept[-1] if kept else None


def is_refuted(claim: Claim | None, seen: Sequence[FiguresCompared]) -> bool | None:
    """Return whether a run shows that the best model is kept; None if it does not show either."""
    if claim is None or (claim.side == "all") is not (seen[-1].sign in ("max", "min")):
        return None
    figures, kept = figures_and_kept(claim, seen)
    if claim.renewed == "never":
        bests = {each.right if claim.side == "left" else each.left[0] for each in seen}
        return False if len(figures) > 1 and len(bests) == 1 and kept is not None else None
    if claim.better == claim.kept:
        return kept is not None
    best = min(figures) if claim.better == LOWER else max(figures)
    return False if kept is None or (len(set(figures)) > 1 and kept != best) else None
