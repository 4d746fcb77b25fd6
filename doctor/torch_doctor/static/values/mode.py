"""The mode that was last set on a module."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.values.value import Value

if TYPE_CHECKING:
    from collections.abc import Iterable

    from torch_doctor.trace import Tri


class Mode(Value):
    """Whether a module was put in training mode (None: not known), and a stamp, which grows with each change."""

    __slots__ = ("stamp", "training")

    def __init__(self, stamp: int, training: Tri) -> None:
        self.stamp = stamp
        self.training = training

    def same(self, other: Mode) -> bool:
        """Whether it was set by the same change, to the same."""
        return self.stamp == other.stamp and self.training is other.training


AS_BUILT = Mode(0, training=True)
"""The mode of a module that nobody has set."""


def one_of(modes: Iterable[Mode]) -> Mode:
    """The latest stamp, and what all of these agree on."""
    modes = list(modes)
    said = {mode.training for mode in modes}
    return Mode(max(mode.stamp for mode in modes), said.pop() if len(said) == 1 else None)
