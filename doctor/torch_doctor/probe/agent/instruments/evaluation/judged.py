"""Writes the numbers that are compared, or chosen from, where the source has a finding."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from ... import hooks
from ..instrument import Instrument as Base

if TYPE_CHECKING:
    from ...watching.watch import Watch

MOST = 40  # comparisons of one place that are written
LARGEST = sys.float_info.max  # stands for infinity, which JSON does not know
LONGEST = 1000  # numbers that one of them is chosen from


class Instrument(Base):
    """Is told of the sides of comparisons, and of what the largest or smallest is chosen from."""

    def __init__(self, watch: Watch) -> None:
        super().__init__(watch)
        self._left: dict[int, float | None] = {}
        self._written: dict[int, int] = {}
        hooks.put("judged", self._judged)

    def _judged(self, key: int, value: Any) -> Any:
        """A side of a comparison, the key of a choice, or what is chosen from; returns it, a key as one that tells."""
        recorder = self.watch.recorder
        if recorder.quiet or recorder.rests():
            return value
        how = recorder.index.nodes[key].how
        if how == "key":
            return self._telling(key, value)
        recorder.safely(self._tell, key, how, value)
        return value

    def _tell(self, key: int, how: str, value: Any) -> None:
        if how == "all":
            numbers = self._several(value)
            if len(numbers) > 1:
                self._write(key, numbers)
        elif how == "left":
            self._left[key + 1] = self._number(value)  # the right side has the next key
        else:
            left, right = self._left.pop(key, None), self._number(value)
            if left is not None and right is not None:
                self._write(key, [left], right)

    def _telling(self, key: int, function: Any) -> Any:
        """The key of a choice, which writes its results once it is dropped."""
        numbers: list[float | None] = []

        def told(item: Any) -> Any:
            result = function(item)
            numbers.append(self._number(result))
            known = [each for each in numbers if each is not None]
            if len(known) == len(numbers) and 1 < len(known) <= LONGEST:
                self.watch.recorder.safely(self._write, key, known)
            return result

        return told if callable(function) else function

    def _several(self, value: Any) -> list[float]:
        if isinstance(value, self.watch.torch.Tensor) or type(value).__module__ == "numpy":
            value = value.tolist()
        if not isinstance(value, (list, tuple)) or len(value) > LONGEST:
            return []
        found = [self._number(each[0] if isinstance(each, (list, tuple)) and each else each) for each in value]
        known = [each for each in found if each is not None]
        return known if len(known) == len(found) else []

    def _number(self, value: Any) -> float | None:
        """A number, or a tensor or array of one; None for anything else."""
        if isinstance(value, self.watch.torch.Tensor):
            if value.numel() != 1 or value.device.type == "meta":
                return None
            with self.watch.unwatched():
                value = value.detach().item()
        elif type(value).__module__ == "numpy" and getattr(value, "size", 0) == 1:
            value = value.item()
        if not isinstance(value, (int, float)) or value != value:  # noqa: PLR0124 - not a number
            return None
        return max(-LARGEST, min(float(value), LARGEST))

    def _write(self, key: int, left: list[float], right: float = 0.0) -> None:
        recorder = self.watch.recorder
        site = recorder.index.site(key)
        self._written[site] = self._written.get(site, 0) + 1
        if self._written[site] <= MOST:
            sign = recorder.index.nodes[key].name
            recorder.event("FiguresCompared", recorder.here(), site=site, sign=sign, left=left, right=right)
