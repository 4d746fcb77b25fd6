"""Transforms that give something else each time they are called."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static import libraries
from torch_doctor.static.tables import words

if TYPE_CHECKING:
    from collections.abc import Mapping

RANDOM = frozenset(libraries.every(lambda library: library.random_transforms))

_ALWAYS_THE_SAME = frozenset(
    words(
        """
        RandomHorizontalFlip RandomVerticalFlip RandomGrayscale RandomInvert HorizontalFlip VerticalFlip Transpose
        """
    )
)
"""Those that do one thing when they do it: with a probability of 1 they are no longer random."""


def random(name: str, keywords: Mapping[str, object]) -> bool:
    """Whether a transform built with these settings gives something else each time."""
    if name not in RANDOM:
        return False
    chance = keywords.get("p")
    if isinstance(chance, (int, float)) and chance == 0:
        return False
    return not (isinstance(chance, (int, float)) and chance == 1 and name.rpartition(".")[2] in _ALWAYS_THE_SAME)
