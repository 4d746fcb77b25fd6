"""What is said of a loss."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from torch_doctor.trace.words import Kind


class Loss(Struct, frozen=True):
    """What is known of one loss."""

    expects: Kind  # of its input; UNKNOWN where any numbers will do
    input: int = 0  # position in the call (of the module, or of the function)
    target: int | None = 1  # None: it has no target, or no single one
    input_name: str = "input"
    target_name: str = "target"
    reduction_default: str = "mean"
    classes: bool = False  # targets may be class indices
    symmetric: bool = False  # input and target may change places
