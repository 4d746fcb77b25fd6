"""Transforms that give something else each time they are called.

Sources: https://docs.pytorch.org/vision/stable/transforms.html, https://albumentations.ai/docs and the documentation of each
package named.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.tables import words

if TYPE_CHECKING:
    from collections.abc import Mapping

_VISION = words(
    """
    RandomCrop RandomHorizontalFlip RandomVerticalFlip RandomRotation RandomResizedCrop RandomSizedCrop RandomAffine
    RandomPerspective RandomErasing RandomGrayscale RandomInvert RandomPosterize RandomSolarize RandomAdjustSharpness
    RandomAutocontrast RandomEqualize ColorJitter AutoAugment RandAugment TrivialAugmentWide AugMix ElasticTransform
    RandomZoomOut RandomIoUCrop RandomPhotometricDistort RandomResize ScaleJitter RandomShortestSize
    RandomChannelPermutation CutMix MixUp RandomApply RandomChoice RandomOrder
    """
)
_ALBUMENTATIONS = words(
    """
    HorizontalFlip VerticalFlip Flip Transpose RandomRotate90 Rotate ShiftScaleRotate RandomCrop RandomResizedCrop
    RandomSizedCrop RandomBrightnessContrast RandomBrightness RandomContrast HueSaturationValue RGBShift ColorJitter
    CoarseDropout Cutout GaussNoise ElasticTransform GridDistortion OpticalDistortion RandomScale RandomGamma
    Affine Perspective MotionBlur D4 SafeRotate ChannelShuffle ChannelDropout
    """
)
RANDOM = frozenset(
    (
        *(f"torchvision.transforms.{name}" for name in _VISION),
        *(f"torchvision.transforms.v2.{name}" for name in _VISION),
        *(f"torchvision.transforms.transforms.{name}" for name in _VISION),
        *(f"albumentations.{name}" for name in _ALBUMENTATIONS),
        *(f"kornia.augmentation.{name}" for name in _VISION),
        *(f"torchaudio.transforms.{name}" for name in ("TimeMasking", "FrequencyMasking", "SpecAugment")),
    )
)

_ALWAYS_THE_SAME = frozenset(
    words(
        """
        RandomHorizontalFlip RandomVerticalFlip RandomGrayscale RandomInvert HorizontalFlip VerticalFlip Transpose
        """
    )
)
"""Those that do one thing when they do it: with a probability of 1 they are no longer random."""


def random(name: str, keywords: Mapping[str, object]) -> bool:
    """Whether a transform built with these settings gives something else each time."""
    if name not in RANDOM:
        return False
    chance = keywords.get("p")
    if isinstance(chance, (int, float)) and chance == 0:
        return False
    return not (isinstance(chance, (int, float)) and chance == 1 and name.rpartition(".")[2] in _ALWAYS_THE_SAME)
