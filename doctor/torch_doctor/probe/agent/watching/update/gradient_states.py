"""What is known of the gradient of one tensor between two looks at it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import weakref


class GradientState:
    """The gradient of one tensor: whether there is one that is not zero, which tensor it is, and in which version.

    `values` are those of the tensor after the last backward pass, where it may be updated by hand: `waited` says that an
    earlier pass went by, and no optimizer stepped.
    """

    __slots__ = ("empty", "gradient", "present", "ref", "values", "version", "waited", "zero_version")

    def __init__(self, ref: weakref.ref[Any]) -> None:
        self.ref = ref
        self.present = False
        self.empty = False  # the backward pass gave zeros
        self.gradient = 0
        self.version = -1
        self.zero_version = -1
        self.values: Any = None
        self.waited = False
