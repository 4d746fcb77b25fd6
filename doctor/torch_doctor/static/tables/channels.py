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
