"""Transforms that give something else each time they are called."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static import libraries
from torch_doctor.static.tables import words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

RANDOM = frozenset(libraries.every(lambda library: library.random_transforms))

_ALWAYS_THE_SAME = frozenset(
    words(
        """
        RandomHorizontalFlip RandomVerticalFlip RandomGrayscale RandomInvert HorizontalFlip VerticalFlip Transpose
        """
    )
)
"""Those that do one thing when they do it: with a probability of 1 they are no longer random."""


_ARGUMENTS = {
    **dict.fromkeys(
        words("RandomHorizontalFlip RandomVerticalFlip RandomGrayscale RandomInvert RandomErasing"), ("p",)
    ),
    "RandomRotation": ("degrees",),
    "RandomAffine": ("degrees", "translate", "scale", "shear"),
    "RandomResizedCrop": ("size", "scale", "ratio"),
    "ColorJitter": ("brightness", "contrast", "saturation", "hue"),
}
"""The names of the first positional arguments of torchvision's transforms."""
_RANGES: dict[str, dict[str, object]] = {
    "RandomRotation": {"degrees": (-180, 180)},
    "RandomAffine": {"degrees": (-180, 180), "scale": None, "shear": None},
    "RandomResizedCrop": {"scale": (0.08, 1), "ratio": (3 / 4, 4 / 3)},
    "ColorJitter": dict.fromkeys(("brightness", "contrast", "saturation", "hue"), 0),
}
"""The ranges that some draw their amounts from, and what they are where nothing is given."""


def random(name: str, positional: Sequence[object], keywords: Mapping[str, object]) -> bool:
    """Whether a transform built with these settings surely gives something else each time; an Ellipsis may be anything."""
    if name not in RANDOM:
        return False
    short = name.rpartition(".")[2]
    settings = {**dict(zip(_ARGUMENTS.get(short, ()), positional, strict=False)), **keywords}
    chance = settings.get("p", 0.5)
    if chance in (0, ...) or (chance == 1 and short in _ALWAYS_THE_SAME):
        return False
    ranges = _RANGES.get(short)
    if ranges is None or settings.get("translate") not in (None, (0, 0), ...):
        return True
    return not all(_may_be_one_amount(settings.get(each, default)) for each, default in ranges.items())


def _may_be_one_amount(given: object) -> bool:
    """Whether a range may hold one number, from which nothing is drawn: `0` stands for no change, `10` for -10 to 10."""
    if isinstance(given, tuple):
        return ... in given or (len(given) > 1 and given[::2] == given[1::2])
    return given in (None, 0, ...)
