"""By which numbers pictures are scaled."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from torch_doctor.trace import Site

Numbers: TypeAlias = "tuple[float, ...]"
"""One number, or one for each channel."""


class Scale(NamedTuple):
    """Numbers of pictures that are `(number - mean) / std` of those from 0 to 255 that were read.

    `whole`: they are bytes still, which some functions divide and others do not.
    """

    mean: Numbers = (0.0,)
    std: Numbers = (1.0,)
    whole: bool = True

    @property
    def several(self) -> bool:
        """Whether channels are scaled each by its own numbers."""
        return len(self.mean) > 1 or len(self.std) > 1

    @property
    def turned(self) -> Scale:
        """The same with the first channel in the place of the last."""
        return self._replace(mean=self.mean[::-1], std=self.std[::-1])

    def computed(self, op: str, by: Numbers) -> Scale | None:
        """The numbers after an operation with others; None where there are not as many, or their order is turned round."""
        by = (by[0],) if len(set(by)) == 1 else by
        size = max(len(self.mean), len(self.std), len(by))
        if any(len(each) not in (1, size) for each in (self.mean, self.std, by)):
            return None
        rows = [(each * size)[:size] for each in (self.mean, self.std, by)]
        if op in "*/":
            if min(by) <= 0:
                return None
            std = tuple(s / n if op == "*" else s * n for _, s, n in zip(*rows, strict=True))
            return self._replace(std=_short(std), whole=False)
        sign = -1 if op == "+" else 1
        mean = tuple(m + sign * n * s for m, s, n in zip(*rows, strict=True))
        return self._replace(mean=_short(mean), whole=False)

    def normalised(self, mean: Numbers, std: Numbers) -> Scale | None:
        """The numbers after a mean is subtracted and a deviation divides them."""
        shifted = self.computed("-", mean) if mean and std else None
        return None if shifted is None else shifted.computed("/", std)

    def converted(self) -> Scale:
        """The numbers after a function that divides bytes by 255, and nothing else."""
        return (self.computed("/", (255.0,)) or self) if self.whole else self


class Transformed(NamedTuple):
    """What transforms do to the numbers of a picture: by which means they normalise it, and where, and how it is scaled then."""

    means: tuple[float, ...] = ()
    at: Site | None = None
    read_at: Site | None = None
    scale: Scale | None = None


def _short(numbers: Numbers) -> Numbers:
    return numbers[:1] if len({round(each, 9) for each in numbers}) == 1 else numbers
