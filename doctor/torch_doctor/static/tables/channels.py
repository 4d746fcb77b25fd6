"""What reads pictures with their channels in which order, and what leaves or changes it."""

from __future__ import annotations

from typing import Final

from torch_doctor.static import libraries
from torch_doctor.static.tables import words

ORDERS: Final = libraries.table(lambda library: library.channels.orders)
"""Functions that read pictures, and the order of the channels, unless their flags say otherwise."""
FLAGS: Final = libraries.table(lambda library: library.channels.flags)
CONVERTING: Final = frozenset(libraries.every(lambda library: library.channels.conversions))
SWAPPING: Final = frozenset(libraries.every(lambda library: library.channels.swaps))
"""Conversions that put the first channel in the place of the last."""
SWAPPING_NUMBER: Final = 4
"""The number of both conversions in OpenCV."""
SIGNS: Final = libraries.every(lambda library: library.channels.signs)
"""Names by which a module of the project shows that it stands in for a library."""

FLIPPING: Final = libraries.table(lambda library: library.channels.flips)
"""Functions that turn round dimensions, and whether these are the first two."""
KEEPING_THE_LAST: Final = frozenset(libraries.every(lambda library: library.channels.keeping)).union(
    words(".astype .copy .resize .crop .rotate .thumbnail")
)
"""Functions, and methods, that leave the channels in the last dimension, in their order."""

ARITHMETIC: Final = frozenset(words("+ - * / add sub mul div true_divide add_ sub_ mul_ div_"))
"""How tensors are made that have the numbers of one tensor, shifted and scaled."""
TENSORS: Final = frozenset(
    words("tensor as_tensor asarray from_numpy Tensor FloatTensor stack transformed batch unbind unsqueeze squeeze_")
)
"""How tensors are made of arrays, and of one another, which keep the channels."""
RED_FIRST: Final = (
    (0.485, 0.456, 0.406),  # ImageNet
    (0.4815, 0.4578, 0.4082),  # CLIP
    (0.4914, 0.4822, 0.4465),  # CIFAR-10
    (0.5071, 0.4867, 0.4408),  # CIFAR-100
)
"""Means of the channels of well-known data, red first, for numbers up to 1: they differ so much that they tell the order.

Source: https://docs.pytorch.org/vision/stable/models.html.
"""
FAMILIES: Final = libraries.every(lambda library: library.channels.transforms)
MIXING: Final = frozenset(
    words(
        """
        Lambda RandomApply RandomChoice RandomOrder OneOf OneOrOther SomeOf ReplayCompose RandomChannelPermutation ChannelShuffle
        Grayscale ToGray LinearTransformation FiveCrop TenCrop
        """
    )
)
"""Transforms that do what others say, or may mix the channels."""
