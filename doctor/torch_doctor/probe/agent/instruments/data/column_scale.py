"""The scale of the columns of what a layer is given, and of targets."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

LARGE, FAR = 20.0, 100.0
"""The root mean square of a column, and of targets, from which on it is large: layers expect about one, and biases can move."""
APART = 1000.0
"""How many times the deviation of the widest column is that of the narrowest one, where scales differ much."""


class ColumnScale(NamedTuple):
    """The largest root mean square of a column, which one it is of how many, and the deviations of the narrowest and widest."""

    largest: float
    column: int
    columns: int
    narrowest: float
    widest: float

    @property
    def strikes(self) -> bool:
        """Whether that is far from what layers expect."""
        return self.largest >= LARGE or (self.narrowest > 0 and self.widest >= APART * self.narrowest)

    @property
    def is_far(self) -> bool:
        """Whether targets of this scale are out of the reach of what a bias can soon become."""
        return self.largest >= FAR


def columns_of(torch: Any, layer: Any, given: Any) -> Any:
    """What a layer is given, as a table with a column for each of its features or channels."""
    dim = 1 if isinstance(layer, torch.nn.modules.conv._ConvNd) and given.dim() > 2 else -1  # noqa: PLR2004
    return given.detach().movedim(dim, -1).reshape(-1, given.shape[dim])


def scale_of(values: Any) -> ColumnScale:
    """The scale of the columns of a table."""
    numbers = values.double()
    means, spreads = numbers.mean(0), numbers.std(0, unbiased=False)
    size = (means.square() + spreads.square()).sqrt().nan_to_num(nan=0.0, posinf=0.0)
    column = int(size.argmax())
    moving = spreads[spreads.isfinite() & (spreads > 1e-9 * size.clamp(min=1e-12))]
    narrowest, widest = (float(moving.min()), float(moving.max())) if moving.numel() else (0.0, 0.0)
    largest = float(size[column])
    return ColumnScale(largest if math.isfinite(largest) else 0.0, column, len(size), narrowest, widest)
