"""Transforms of pictures, those of `torchvision.transforms` and of its `v2`."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from . import functional

if TYPE_CHECKING:
    from collections.abc import Callable


class InterpolationMode(enum.Enum):
    """The ways to resample."""

    NEAREST = "nearest"
    NEAREST_EXACT = "nearest-exact"
    BILINEAR = "bilinear"
    BICUBIC = "bicubic"
    BOX = "box"
    HAMMING = "hamming"
    LANCZOS = "lanczos"


class Compose:
    """One after the other."""

    def __init__(self, transforms: Any) -> None:
        self.transforms = transforms

    def __call__(self, *inputs: Any) -> Any:
        """The picture, and what is given with it, through all of them."""
        for each in self.transforms:
            found: Any = each(*inputs)
            inputs = found if isinstance(found, tuple) else (found,)
        return inputs[0] if len(inputs) == 1 else inputs


class Lambda:
    """A function."""

    def __init__(self, lambd: Callable[..., Any], *_: Any) -> None:
        self.lambd = lambd

    def __call__(self, img: Any) -> Any:
        """What the function makes of it."""
        return self.lambd(img)


class Transform(nn.Module):
    """What is done to a picture; what is given with it stays as it is."""

    def forward(self, *inputs: Any) -> Any:
        """The changed picture, and what was given with it."""
        first = inputs[0][0] if len(inputs) == 1 and isinstance(inputs[0], tuple) else inputs[0]
        rest = inputs[0][1:] if len(inputs) == 1 and isinstance(inputs[0], tuple) else inputs[1:]
        changed = self.change(first)
        return (changed, *rest) if rest else changed

    def change(self, img: Any) -> Any:
        """The changed picture."""
        return img


class ToTensor(Transform):
    """A picture as numbers between 0 and 1."""

    def change(self, img: Any) -> Any:
        """The tensor."""
        return functional.to_tensor(img)


class PILToTensor(Transform):
    """A picture as bytes."""

    def change(self, img: Any) -> Any:
        """The tensor."""
        return img if isinstance(img, torch.Tensor) else functional.pil_to_tensor(img)


ToImage = PILToTensor


class ToPILImage(Transform):
    """A tensor as a picture."""

    def __init__(self, mode: Any = None) -> None:
        super().__init__()
        self.mode = mode

    def change(self, img: Any) -> Any:
        """The picture."""
        return functional.to_pil_image(img, self.mode)


class ConvertImageDtype(Transform):
    """Numbers of another type, bytes as numbers between 0 and 1."""

    def __init__(self, dtype: Any = torch.float32, scale: bool = True) -> None:  # noqa: FBT001, FBT002 - as torchvision has it
        super().__init__()
        self.dtype, self.scale = dtype, scale

    def change(self, img: Any) -> Any:
        """The tensor of that type."""
        return functional.convert_image_dtype(img, self.dtype) if self.scale else img.to(self.dtype)


class ToDtype(ConvertImageDtype):
    """As `ConvertImageDtype`; scaled where it is said so."""

    def __init__(self, dtype: Any, scale: bool = False) -> None:  # noqa: FBT001, FBT002 - as torchvision has it
        super().__init__(dtype, scale)


class Normalize(Transform):
    """Less the mean, by the deviation."""

    def __init__(self, mean: Any, std: Any, inplace: bool = False) -> None:  # noqa: FBT001, FBT002 - as torchvision has it
        super().__init__()
        self.mean, self.std, self.inplace = mean, std, inplace

    def change(self, img: Any) -> Any:
        """The normalised tensor."""
        return functional.normalize(img, self.mean, self.std, self.inplace)


class Resize(Transform):
    """Of another size."""

    def __init__(self, size: Any, interpolation: Any = InterpolationMode.BILINEAR, *_: Any, **__: Any) -> None:
        super().__init__()
        self.size, self.interpolation = size, interpolation

    def change(self, img: Any) -> Any:
        """The picture of that size."""
        return functional.resize(img, self.size, self.interpolation)


class CenterCrop(Transform):
    """The part in the middle."""

    def __init__(self, size: Any) -> None:
        super().__init__()
        self.size = size

    def change(self, img: Any) -> Any:
        """That part."""
        return functional.center_crop(img, self.size)


class FiveCrop(CenterCrop):
    """The corners and the middle."""

    def change(self, img: Any) -> Any:
        """All five."""
        return functional.five_crop(img, self.size)


class TenCrop(FiveCrop):
    """The corners and the middle, and their mirror images."""

    def change(self, img: Any) -> Any:
        """All ten."""
        return (*super().change(img), *functional.five_crop(functional.hflip(img), self.size))


class Pad(Transform):
    """With edges around it."""

    def __init__(self, padding: Any, fill: Any = 0, padding_mode: str = "constant") -> None:
        super().__init__()
        self.padding, self.fill, self.padding_mode = padding, fill, padding_mode

    def change(self, img: Any) -> Any:
        """The larger picture."""
        return functional.pad(img, self.padding, self.fill, self.padding_mode)


class Grayscale(Transform):
    """Without colours."""

    def __init__(self, num_output_channels: int = 1) -> None:
        super().__init__()
        self.num_output_channels = num_output_channels

    def change(self, img: Any) -> Any:
        """The gray picture."""
        return functional.rgb_to_grayscale(img, self.num_output_channels)
