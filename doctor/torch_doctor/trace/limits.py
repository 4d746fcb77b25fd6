"""Limits: which values the numbers of a tensor can take."""

from __future__ import annotations

import math

from msgspec import Struct


class Limits(Struct, frozen=True):
    """The interval that numbers lie in, and which values they surely take. The default says nothing."""

    low: float = -math.inf
    """The lower end."""
    high: float = math.inf
    """The upper end."""
    taken: tuple[float, ...] = ()
    """Values that some of the numbers have: by the way they are computed, or as the run has seen them."""
    whole: bool = False
    """Whether they are integers."""
    dtype: str = ""
    """The dtype; "" if unknown."""

    @property
    def known(self) -> bool:
        """Whether anything is known."""
        return self != Limits(dtype=self.dtype)

    @property
    def finite(self) -> bool:
        """Whether all numbers are surely finite."""
        return math.isfinite(self.low) and math.isfinite(self.high)

    def words(self) -> str:
        """The interval in words: square brackets for ends that are taken."""
        left = "[" if self.low in self.taken else "("
        right = "]" if self.high in self.taken else ")"
        return f"{left}{self.low:g}, {self.high:g}{right}"
