"""Functions and layers that make numbers sum to one: over how many numbers they go."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.measuring import measured, size_at, with_facts
from torch_doctor.static.values import (
    Const,
    Value,
    shapes,
)
from torch_doctor.trace import (
    Normalised,
)

if TYPE_CHECKING:
    from torch_doctor.static.run import Run
    from torch_doctor.trace import Site

SOFTMAXES = frozenset(("softmax", "log_softmax", "softmin", "Softmax", "LogSoftmax", "Softmin"))
"""Functions and layers that make numbers along a dimension (their first setting) sum to one."""


def normalised(run: Run, function: str, given: Value, dim: Value | None, site: Site) -> None:
    """Say over how many numbers a softmax goes, where that is known; without a `dim` torch chooses."""
    shape = measured(given).shape
    omitted = dim is None or (isinstance(dim, Const) and dim.value is None)
    size: object = None
    if shape is not None:
        chosen: object = size_at(dim) if dim is not None else None
        if omitted and shapes.ANY not in shape:
            chosen = 0 if len(shape) in (0, 1, 3) else 1
        place = shapes.place(shape, chosen)
        size = None if place is None else shape[place]
    if isinstance(size, int) or omitted:
        fact = with_facts(run.fact(given), given)
        known = size if isinstance(size, int) else 0
        run.emit(Normalised, site, function=function, input=fact, size=known, dim_given=not omitted)
