"""Albumentations: transforms of pictures (https://albumentations.ai/docs)."""

from __future__ import annotations

from torch_doctor.static.libraries.library import Library, members
from torch_doctor.static.tables.reading import ChannelFunctions

LIBRARY = Library(
    harmless=("albumentations",),
    channels=ChannelFunctions(transforms=("albumentations.",), joined=("albumentations.Compose",)),
    random_transforms=members(
        "albumentations",
        """
        HorizontalFlip VerticalFlip Flip Transpose RandomRotate90 Rotate ShiftScaleRotate RandomCrop RandomResizedCrop
        RandomSizedCrop RandomBrightnessContrast RandomBrightness RandomContrast HueSaturationValue RGBShift ColorJitter
        CoarseDropout Cutout GaussNoise ElasticTransform GridDistortion OpticalDistortion RandomScale RandomGamma
        Affine Perspective MotionBlur D4 SafeRotate ChannelShuffle ChannelDropout
        """,
    ),
)
