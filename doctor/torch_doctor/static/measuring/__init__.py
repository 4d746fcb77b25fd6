"""The dtype and shape of a tensor, worked out from how it was made when somebody asks."""

from torch_doctor.static.measuring import (
    arithmetic,
    arrangement,
    core,
    images,
    items,
    layers,
    makers,
    products,
    selecting,
)
from torch_doctor.static.measuring.core import making, measured, output, size_at, with_facts

for family in (arithmetic, arrangement, images, items, layers, makers, products, selecting):
    core.EFFECTS.update(family.EFFECTS)

__all__ = ["making", "measured", "output", "size_at", "with_facts"]
