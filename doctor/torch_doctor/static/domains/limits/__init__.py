"""Which values numbers can take, and where the derivatives of operations are infinite."""

from torch_doctor.static.domains.limits.bounds import Bounds
from torch_doctor.static.domains.limits.guards import guarded
from torch_doctor.static.domains.limits.masked_rows import EXCUSING, masked_row
from torch_doctor.static.domains.limits.singular import LOGARITHMS, Singular, of_one, singular
from torch_doctor.static.domains.limits.span import Attained, Span

__all__ = [
    "EXCUSING",
    "LOGARITHMS",
    "Attained",
    "Bounds",
    "Singular",
    "Span",
    "guarded",
    "masked_row",
    "of_one",
    "singular",
]
