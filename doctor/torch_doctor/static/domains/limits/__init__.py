"""Which values numbers can take, and where the derivatives of operations are infinite."""

from torch_doctor.static.domains.limits.bounds import Bounds
from torch_doctor.static.domains.limits.guards import guarded
from torch_doctor.static.domains.limits.singular import LOGARITHMS, Singular, of_one, singular
from torch_doctor.static.domains.limits.span import Attained, Span

__all__ = ["LOGARITHMS", "Attained", "Bounds", "Singular", "Span", "guarded", "of_one", "singular"]
