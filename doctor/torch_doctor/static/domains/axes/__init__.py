"""What each dimension of a tensor is: which axes of which tensors its elements are ordered by, and how long each is."""

from torch_doctor.static.domains.axes.axis import Axis, Part
from torch_doctor.static.domains.axes.order import Order
from torch_doctor.static.domains.axes.sizes import Sizes

__all__ = ["Axis", "Order", "Part", "Sizes"]
