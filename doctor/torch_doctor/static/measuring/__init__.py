"""The dtype and shape of a tensor, worked out from how it was made when somebody asks."""

from torch_doctor.static.measuring import arithmetic, arrangement, core, layers, makers
from torch_doctor.static.measuring.core import making, measured, size_at, with_facts

core.EFFECTS.update(arithmetic.EFFECTS | arrangement.EFFECTS | layers.EFFECTS | makers.EFFECTS)

__all__ = ["making", "measured", "size_at", "with_facts"]
