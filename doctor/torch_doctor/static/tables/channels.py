"""What reads pictures with their channels in which order, and what leaves or changes it."""

from __future__ import annotations

from typing import Final

from torch_doctor.static.tables import words

BLUE_FIRST: Final = frozenset(words("cv2.imread cv2.imdecode"))
"""Functions that read blue first, unless their flags say otherwise (https://docs.opencv.org/4.x/d4/da8/group__imgcodecs.html)."""
COLOURED: Final = frozenset(words("cv2.IMREAD_COLOR cv2.IMREAD_COLOR_BGR cv2.IMREAD_ANYCOLOR")) - {
    "cv2.IMREAD_ANYCOLOR"
}
COLOURED_RED_FIRST: Final = frozenset(words("cv2.IMREAD_COLOR_RGB"))
RED_FIRST: Final = frozenset(
    words("PIL.Image.open imageio.imread imageio.v2.imread imageio.v3.imread skimage.io.imread")
)
"""Functions that read red first."""
CONVERTING: Final = frozenset(words("cv2.cvtColor"))
SWAPPING: Final = frozenset(words("cv2.COLOR_BGR2RGB cv2.COLOR_RGB2BGR"))
"""Conversions that put the first channel in the place of the last."""

FLIPPING: Final = frozenset(words("numpy.flip numpy.fliplr numpy.flipud numpy.rot90"))
FLIPPING_ROWS: Final = FLIPPING - {"numpy.flip"}
"""Functions that turn round the first two dimensions."""
KEEPING_THE_LAST: Final = frozenset(
    words(
        """
        numpy.array numpy.asarray numpy.ascontiguousarray numpy.float32 numpy.float64 numpy.copy PIL.Image.fromarray
        cv2.resize cv2.flip cv2.rotate cv2.copyMakeBorder cv2.transpose cv2.warpAffine
        .astype .copy .resize .crop .rotate .thumbnail
        """
    )
)
"""Functions, and methods, that leave the channels in the last dimension, in their order."""

ARITHMETIC: Final = frozenset(words("+ - * / add sub mul div true_divide add_ sub_ mul_ div_"))
"""How tensors are made that have the numbers of one tensor, shifted and scaled."""
TENSORS: Final = frozenset(
    words("tensor as_tensor asarray from_numpy Tensor FloatTensor stack transformed batch unbind unsqueeze squeeze_")
)
"""How tensors are made of arrays, and of one another, which keep the channels."""
FAMILIES: Final = ("torchvision.transforms.", "albumentations.")
MIXING: Final = frozenset(
    words(
        """
        Lambda RandomApply RandomChoice RandomOrder OneOf OneOrOther SomeOf ReplayCompose RandomChannelPermutation ChannelShuffle
        Grayscale ToGray LinearTransformation FiveCrop TenCrop
        """
    )
)
"""Transforms that do what others say, or may mix the channels."""
