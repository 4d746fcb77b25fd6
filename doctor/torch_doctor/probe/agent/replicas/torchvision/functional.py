"""Functions on pictures and on tensors of them, as `torchvision.transforms.functional` has them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .tensors import cut, resized, turned

if TYPE_CHECKING:
    from collections.abc import Callable


def _through(picture: Any, change: Callable[[Any], Any]) -> Any:
    """What a change of a tensor, with the channels first, makes of a picture of whatever sort."""
    import torch

    if isinstance(picture, torch.Tensor):
        return change(picture)
    import numpy as np

    array = np.array(picture)
    data = torch.from_numpy(array if array.ndim > 2 else array[..., None]).permute(2, 0, 1)  # noqa: PLR2004
    changed = change(data).permute(1, 2, 0).contiguous().numpy()
    image = pictures_of(picture)
    return image.fromarray(changed[..., 0] if changed.shape[2] == 1 else changed)


def pictures_of(picture: Any) -> Any:
    """The module that makes pictures of the sort of one."""
    import importlib
    import sys

    name = type(picture).__module__
    return sys.modules["PIL.Image"] if name.startswith("PIL") else importlib.import_module(".pictures", __package__)


def get_image_size(img: Any) -> list[int]:
    """Width and height."""
    shape = getattr(img, "shape", None)
    return [int(shape[-1]), int(shape[-2])] if shape is not None else list(img.size)


def get_dimensions(img: Any) -> list[int]:
    """Channels, height and width."""
    width, height = get_image_size(img)
    return [img.shape[-3] if hasattr(img, "shape") else len(img.getbands()), height, width]


def to_tensor(pic: Any) -> Any:
    """Channels first, between 0 and 1."""
    import numpy as np
    import torch

    array = np.array(pic)
    data = torch.from_numpy(array if array.ndim > 2 else array[..., None]).permute(2, 0, 1).contiguous()  # noqa: PLR2004
    return data.to(torch.get_default_dtype()) / 255 if data.dtype is torch.uint8 else data


def pil_to_tensor(pic: Any) -> Any:
    """Channels first, as bytes."""
    import numpy as np
    import torch

    array = np.array(pic)
    return torch.from_numpy(array if array.ndim > 2 else array[..., None]).permute(2, 0, 1).contiguous()  # noqa: PLR2004


def to_pil_image(pic: Any, mode: Any = None) -> Any:
    """A picture of a tensor or an array."""
    import torch

    from .pictures import picture_module

    if isinstance(pic, torch.Tensor):
        data = pic if pic.dim() > 2 else pic[None]  # noqa: PLR2004 - rows and columns
        data = (data * 255).clamp(0, 255).to(torch.uint8) if data.is_floating_point() else data
        pic = data.permute(1, 2, 0).contiguous().cpu().numpy()
    picture = picture_module().fromarray(pic[..., 0] if pic.ndim > 2 and pic.shape[2] == 1 else pic)  # noqa: PLR2004
    return picture if mode is None else picture.convert(mode)


def convert_image_dtype(image: Any, dtype: Any = None) -> Any:
    """Between bytes and numbers between 0 and 1."""
    import torch

    wanted = torch.float32 if dtype is None else dtype
    if image.dtype is torch.uint8 and wanted.is_floating_point:
        return image.to(wanted) / 255
    return (image * 255).to(wanted) if image.is_floating_point() and not wanted.is_floating_point else image.to(wanted)


to_dtype = convert_image_dtype


def normalize(tensor: Any, mean: Any, std: Any, inplace: bool = False) -> Any:  # noqa: FBT001, FBT002 - as torchvision has it
    """Less the mean, by the deviation, of each channel."""
    import torch

    if not tensor.is_floating_point():
        message = f"Input tensor should be a float tensor. Got {tensor.dtype}."
        raise TypeError(message)
    first, second = (
        torch.as_tensor(each, dtype=tensor.dtype, device=tensor.device).view(-1, 1, 1) for each in (mean, std)
    )
    return tensor.sub_(first).div_(second) if inplace else (tensor - first) / second


def resize(img: Any, size: Any, interpolation: Any = None, *_: Any, **__: Any) -> Any:
    """Of a height and width, or with a smaller side of a size."""
    width, height = get_image_size(img)
    if isinstance(size, int) or len(size) == 1:
        side = size if isinstance(size, int) else size[0]
        factor = side / min(width, height)
        wanted = (side, int(width * factor)) if height <= width else (int(height * factor), side)
    else:
        wanted = (int(size[0]), int(size[1]))
    nearest = str(getattr(interpolation, "value", interpolation)) in ("nearest", "0", "nearest-exact")
    return _through(img, lambda data: resized(data, wanted, nearest=nearest))


def crop(img: Any, top: int, left: int, height: int, width: int) -> Any:
    """A part."""
    return _through(img, lambda data: cut(data, top, left, height, width))


def center_crop(img: Any, output_size: Any) -> Any:
    """The part in the middle."""
    height, width = (output_size,) * 2 if isinstance(output_size, int) else (output_size * 2)[:2]
    columns, rows = get_image_size(img)
    return crop(img, round((rows - height) / 2), round((columns - width) / 2), height, width)


def resized_crop(img: Any, top: int, left: int, height: int, width: int, size: Any, *_: Any, **__: Any) -> Any:
    """A part, of another size."""
    return resize(crop(img, top, left, height, width), (size, size) if isinstance(size, int) else size)


def five_crop(img: Any, size: Any) -> tuple[Any, ...]:
    """The corners and the middle."""
    height, width = (size, size) if isinstance(size, int) else size
    columns, rows = get_image_size(img)
    corners = [(0, 0), (0, columns - width), (rows - height, 0), (rows - height, columns - width)]
    return (*(crop(img, top, left, height, width) for top, left in corners), center_crop(img, (height, width)))


def hflip(img: Any) -> Any:
    """The mirror image."""
    return _through(img, lambda data: data.flip(-1))


def vflip(img: Any) -> Any:
    """Upside down."""
    return _through(img, lambda data: data.flip(-2))


horizontal_flip, vertical_flip = hflip, vflip


def pad(img: Any, padding: Any, fill: Any = 0, padding_mode: str = "constant") -> Any:
    """With edges around it."""
    from torch.nn import functional

    sides = [padding] * 4 if isinstance(padding, int) else list(padding) * (4 // len(padding))
    left, top, right, bottom = sides
    value = float(fill) if isinstance(fill, (int, float)) else 0.0

    def padded(data: Any) -> Any:
        if padding_mode == "constant":
            return functional.pad(data, (left, right, top, bottom), value=value)
        mode = {"edge": "replicate", "symmetric": "reflect"}.get(padding_mode, padding_mode)
        return functional.pad(data.float()[None], (left, right, top, bottom), mode=mode)[0].to(data.dtype)

    return _through(img, padded)


def rotate(img: Any, angle: float, *_: Any, **__: Any) -> Any:
    """Turned by an angle."""
    return _through(img, lambda data: turned(data, angle))


def affine(img: Any, angle: float = 0.0, *_: Any, **__: Any) -> Any:
    """Turned by an angle; what else it would do is left out."""
    return rotate(img, angle)


def rgb_to_grayscale(img: Any, num_output_channels: int = 1) -> Any:
    """Without colours."""
    return _through(
        img,
        lambda data: data.float().mean(-3, keepdim=True).to(data.dtype).repeat_interleave(num_output_channels, -3),
    )


to_grayscale = rgb_to_grayscale


def _scaled(img: Any, factor: float) -> Any:
    def scale(data: Any) -> Any:
        most = 1.0 if data.is_floating_point() else 255
        return (data.float() * factor).clamp(0, most).to(data.dtype)

    return _through(img, scale)


def adjust_brightness(img: Any, brightness_factor: float) -> Any:
    """Brighter, or darker."""
    return _scaled(img, brightness_factor)


def adjust_contrast(img: Any, contrast_factor: float) -> Any:
    """Farther from its mean, or nearer to it."""

    def change(data: Any) -> Any:
        most = 1.0 if data.is_floating_point() else 255
        mean = data.float().mean()
        return ((data.float() - mean) * contrast_factor + mean).clamp(0, most).to(data.dtype)

    return _through(img, change)


adjust_saturation = adjust_contrast
adjust_gamma = adjust_brightness


def adjust_hue(img: Any, hue_factor: float) -> Any:
    """The picture as it is."""
    del hue_factor
    return img


def gaussian_blur(img: Any, kernel_size: Any, *_: Any, **__: Any) -> Any:
    """With the mean of what is around each pixel."""
    from torch.nn import functional

    side = kernel_size if isinstance(kernel_size, int) else kernel_size[0]
    return _through(
        img,
        lambda data: functional.avg_pool2d(data.float()[None], side, 1, side // 2, count_include_pad=False)[0].to(
            data.dtype
        ),
    )


def erase(img: Any, i: int, j: int, h: int, w: int, v: Any = 0, inplace: bool = False) -> Any:  # noqa: FBT001, FBT002
    """With a rectangle of one value."""
    found = img if inplace else img.clone()
    found[..., i : i + h, j : j + w] = v
    return found


def invert(img: Any) -> Any:
    """The negative."""
    return _through(img, lambda data: (1.0 if data.is_floating_point() else 255) - data)
