"""What each dimension of a tensor is: which axes of which tensors its elements are ordered by, outermost first."""

from torch_doctor.static.domains.axes.axis import Axis, Part
from torch_doctor.static.domains.axes.order import Order

__all__ = ["Axis", "Order", "Part"]
