"""Transforms of pictures that draw, and all others."""

from __future__ import annotations

import enum
import math
from typing import Any

import torch

from . import functional
from .transforms import (
    Compose,
    Resize,
    Transform,
)


def _drawn(low: float = 0.0, high: float = 1.0) -> float:
    return float(torch.empty(1).uniform_(low, high))


class RandomCrop(Transform):
    """Some part."""

    def __init__(
        self,
        size: Any,
        padding: Any = None,
        pad_if_needed: bool = False,  # noqa: FBT001, FBT002 - as torchvision has it
        fill: Any = 0,
        padding_mode: str = "constant",
    ) -> None:
        super().__init__()
        self.size = (size, size) if isinstance(size, int) else tuple(size)
        self.padding, self.pad_if_needed, self.fill, self.padding_mode = padding, pad_if_needed, fill, padding_mode

    @staticmethod
    def get_params(img: Any, output_size: Any) -> tuple[int, int, int, int]:
        """Where the part lies, and its size."""
        height, width = output_size
        columns, rows = functional.get_image_size(img)
        top = int(torch.randint(0, max(1, rows - height + 1), (1,)))
        left = int(torch.randint(0, max(1, columns - width + 1), (1,)))
        return top, left, height, width

    def change(self, img: Any) -> Any:
        """That part."""
        if self.padding is not None:
            img = functional.pad(img, self.padding, self.fill, self.padding_mode)
        return functional.crop(img, *self.get_params(img, self.size))


class RandomResizedCrop(Transform):
    """Some part, of some size, as large as is said."""

    def __init__(self, size: Any, scale: Any = (0.08, 1.0), ratio: Any = (3 / 4, 4 / 3), *_: Any, **__: Any) -> None:
        super().__init__()
        self.size = (size, size) if isinstance(size, int) else tuple(size)
        self.scale, self.ratio = scale, ratio

    @staticmethod
    def get_params(img: Any, scale: Any, ratio: Any) -> tuple[int, int, int, int]:
        """Where the part lies, and its size."""
        columns, rows = functional.get_image_size(img)
        area = columns * rows * _drawn(*scale)
        aspect = math.exp(_drawn(math.log(ratio[0]), math.log(ratio[1])))
        width = min(columns, max(1, round(math.sqrt(area * aspect))))
        height = min(rows, max(1, round(math.sqrt(area / aspect))))
        top, left = (int(torch.randint(0, most + 1, (1,))) for most in (rows - height, columns - width))
        return top, left, height, width

    def change(self, img: Any) -> Any:
        """That part, of the size."""
        return functional.resized_crop(img, *self.get_params(img, self.scale, self.ratio), self.size)


Scale, RandomSizedCrop = Resize, RandomResizedCrop


class RandomHorizontalFlip(Transform):
    """The mirror image, sometimes."""

    def __init__(self, p: float = 0.5) -> None:
        super().__init__()
        self.p = p

    def change(self, img: Any) -> Any:
        """The picture, or its mirror image."""
        return functional.hflip(img) if _drawn() < self.p else img


class RandomVerticalFlip(RandomHorizontalFlip):
    """Upside down, sometimes."""

    def change(self, img: Any) -> Any:
        """The picture, or upside down."""
        return functional.vflip(img) if _drawn() < self.p else img


class RandomGrayscale(Transform):
    """Without colours, sometimes."""

    def __init__(self, p: float = 0.1) -> None:
        super().__init__()
        self.p = p

    def change(self, img: Any) -> Any:
        """The picture, or without colours."""
        return functional.rgb_to_grayscale(img, 3) if _drawn() < self.p else img


class RandomRotation(Transform):
    """Turned by some angle."""

    def __init__(self, degrees: Any = 0, *_: Any, **__: Any) -> None:
        super().__init__()
        self.degrees = (-degrees, degrees) if isinstance(degrees, (int, float)) else degrees

    def change(self, img: Any) -> Any:
        """The turned picture."""
        return functional.rotate(img, _drawn(*self.degrees[:2]))


RandomAffine = RandomRotation


class RandomPerspective(Transform):
    """The picture as it is, but for its draw."""

    def __init__(self, *_: Any, **__: Any) -> None:
        super().__init__()

    def change(self, img: Any) -> Any:
        """The picture."""
        _drawn()
        return img


ElasticTransform = RandomInvert = RandomPosterize = RandomSolarize = RandomAutocontrast = RandomEqualize = (
    RandomPerspective
)
RandomAdjustSharpness = AutoAugment = RandAugment = TrivialAugmentWide = AugMix = RandomPhotometricDistort = (
    RandomPerspective
)


class ColorJitter(Transform):
    """Some other brightness and contrast."""

    def __init__(self, brightness: Any = 0, contrast: Any = 0, saturation: Any = 0, hue: Any = 0) -> None:
        super().__init__()
        self.brightness, self.contrast, self.saturation, self.hue = brightness, contrast, saturation, hue

    def change(self, img: Any) -> Any:
        """The changed picture."""
        for amount, function in (
            (self.brightness, functional.adjust_brightness),
            (self.contrast, functional.adjust_contrast),
            (self.saturation, functional.adjust_saturation),
        ):
            if amount:
                least, most = (max(0.0, 1 - amount), 1 + amount) if isinstance(amount, (int, float)) else amount
                img = function(img, _drawn(least, most))
        return img


class GaussianBlur(Transform):
    """Blurred."""

    def __init__(self, kernel_size: Any, *_: Any, **__: Any) -> None:
        super().__init__()
        self.kernel_size = kernel_size

    def change(self, img: Any) -> Any:
        """The blurred picture."""
        return functional.gaussian_blur(img, self.kernel_size)


class RandomErasing(Transform):
    """With a hole, sometimes."""

    def __init__(
        self, p: float = 0.5, scale: Any = (0.02, 0.33), ratio: Any = (0.3, 3.3), value: Any = 0, *_: Any
    ) -> None:
        super().__init__()
        self.p, self.scale, self.ratio, self.value = p, scale, ratio, value

    def change(self, img: Any) -> Any:
        """The tensor, or one with a hole."""
        if _drawn() >= self.p:
            return img
        place = RandomResizedCrop.get_params(img, self.scale, self.ratio)
        return functional.erase(img, *place, 0 if isinstance(self.value, str) else self.value)


class RandomApply(Transform):
    """Some transforms, sometimes."""

    def __init__(self, transforms: Any, p: float = 0.5) -> None:
        super().__init__()
        self.transforms, self.p = transforms, p

    def change(self, img: Any) -> Any:
        """The picture, or what they make of it."""
        return Compose(self.transforms)(img) if _drawn() < self.p else img


class RandomChoice(RandomApply):
    """One of some transforms."""

    def change(self, img: Any) -> Any:
        """What it makes of the picture."""
        return self.transforms[int(torch.randint(0, len(self.transforms), (1,)))](img)


class RandomOrder(RandomApply):
    """Some transforms, in any order."""

    def change(self, img: Any) -> Any:
        """What they make of the picture."""
        return Compose([self.transforms[place] for place in torch.randperm(len(self.transforms)).tolist()])(img)


class AutoAugmentPolicy(enum.Enum):
    """Whose policy it is."""

    IMAGENET = "imagenet"
    CIFAR10 = "cifar10"
    SVHN = "svhn"
