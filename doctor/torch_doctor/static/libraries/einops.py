"""einops: rearranging tensors (https://einops.rocks)."""

from __future__ import annotations

from torch_doctor.static.libraries.library import Library
from torch_doctor.static.tables.function import KEPT, OTHER

LIBRARY = Library(
    harmless=("einops",),
    functions={"einops.rearrange": KEPT, "einops.repeat": KEPT, "einops.reduce": OTHER, "einops.einsum": OTHER},
)
