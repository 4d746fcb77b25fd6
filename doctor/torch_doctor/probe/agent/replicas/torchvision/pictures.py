"""Pictures: what transforms, data sets and scripts use of Pillow's."""

from __future__ import annotations

import importlib
import os
import random
import sys
from typing import Any

CHANNELS = {"L": 1, "1": 1, "P": 1, "RGB": 3, "RGBA": 4, "I": 1, "F": 1}
NEAREST, LANCZOS, BILINEAR, BICUBIC, BOX, HAMMING = range(6)
ANTIALIAS = LANCZOS
FLIP_LEFT_RIGHT, FLIP_TOP_BOTTOM, ROTATE_90, ROTATE_180, ROTATE_270, TRANSPOSE, TRANSVERSE = range(7)
SIDE = 256


class Resampling:
    """The ways to resample."""

    NEAREST, LANCZOS, BILINEAR, BICUBIC, BOX, HAMMING = range(6)


class Transpose:
    """The ways to turn."""

    FLIP_LEFT_RIGHT, FLIP_TOP_BOTTOM, ROTATE_90, ROTATE_180, ROTATE_270, TRANSPOSE, TRANSVERSE = range(7)


class Image:
    """A picture: bytes of height, width and channels.

    Attributes:
        data: a tensor of bytes, with the channels last.
        mode: what Pillow calls the sort of its channels.
    """

    format = None
    filename = ""

    def __init__(self, data: Any = None, mode: str = "RGB") -> None:
        import torch

        self.data = torch.zeros(SIDE, SIDE, CHANNELS[mode], dtype=torch.uint8) if data is None else data
        self.mode = mode
        self.info: dict[str, Any] = {}

    @property
    def size(self) -> tuple[int, int]:
        """Width and height."""
        return self.width, self.height

    @property
    def width(self) -> int:
        """The number of columns."""
        return int(self.data.shape[1])

    @property
    def height(self) -> int:
        """The number of rows."""
        return int(self.data.shape[0])

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        """As numpy has it, without an axis where there is one channel."""
        del copy
        found = self.data[..., 0] if self.data.shape[2] == 1 else self.data
        array = found.contiguous().numpy()
        return array if dtype is None else array.astype(dtype)

    def convert(self, mode: str = "RGB", *_: Any, **__: Any) -> Image:
        """With other channels."""
        wanted, count = CHANNELS.get(mode, 3), self.data.shape[2]
        if wanted == count:
            return Image(self.data, mode)
        if wanted == 1:
            return Image(self.data[..., :3].float().mean(2, keepdim=True).to(self.data.dtype), mode)
        return Image(self.data[..., :1].repeat(1, 1, wanted) if count == 1 else _channels(self.data, wanted), mode)

    def resize(self, size: Any, resample: Any = None, *_: Any, **__: Any) -> Image:
        """Of another width and height."""
        from .tensors import resized

        width, height = size
        moved = self.data.permute(2, 0, 1)
        return Image(resized(moved, (int(height), int(width)), nearest=resample == NEAREST).permute(1, 2, 0), self.mode)

    def thumbnail(self, size: Any, *_: Any, **__: Any) -> None:
        """Not larger than a size."""
        factor = min(size[0] / self.width, size[1] / self.height, 1.0)
        self.data = self.resize((max(1, int(self.width * factor)), max(1, int(self.height * factor)))).data

    def crop(self, box: Any) -> Image:
        """A part, black where it is beyond the edge."""
        from .tensors import cut

        left, top, right, bottom = map(int, box)
        moved = cut(self.data.permute(2, 0, 1), top, left, bottom - top, right - left)
        return Image(moved.permute(1, 2, 0), self.mode)

    def transpose(self, method: int) -> Image:
        """Turned."""
        turned: dict[int, Any] = {
            FLIP_LEFT_RIGHT: lambda data: data.flip(1),
            FLIP_TOP_BOTTOM: lambda data: data.flip(0),
            ROTATE_90: lambda data: data.rot90(1),
            ROTATE_180: lambda data: data.rot90(2),
            ROTATE_270: lambda data: data.rot90(3),
        }
        change = turned.get(method, lambda data: data.transpose(0, 1))
        return Image(change(self.data), self.mode)

    def rotate(self, angle: float, *_: Any, **__: Any) -> Image:
        """Turned by an angle."""
        from .tensors import turned

        return Image(turned(self.data.permute(2, 0, 1), angle).permute(1, 2, 0), self.mode)

    def split(self) -> tuple[Image, ...]:
        """One picture of each channel."""
        return tuple(Image(self.data[..., number : number + 1], "L") for number in range(self.data.shape[2]))

    def getbands(self) -> tuple[str, ...]:
        """The names of the channels."""
        return tuple(self.mode)

    def getpixel(self, place: Any) -> Any:
        """One pixel."""
        values = self.data[place[1], place[0]].tolist()
        return values[0] if len(values) == 1 else tuple(values)

    def point(self, function: Any, *_: Any, **__: Any) -> Image:
        """With a function applied to each value."""
        import torch

        table = torch.tensor([int(function(value)) & 255 for value in range(256)], dtype=torch.uint8)
        return Image(table[self.data.long()], self.mode)

    def copy(self) -> Image:
        """Another one."""
        return Image(self.data.clone(), self.mode)

    def save(self, fp: Any, *_: Any, **__: Any) -> None:
        """Writes its bytes."""
        content = bytes(self.data.flatten().tolist())
        if hasattr(fp, "write"):
            fp.write(content)
            return
        with open(fp, "wb") as file:
            file.write(content)

    def tobytes(self) -> bytes:
        """Its bytes."""
        return bytes(self.data.flatten().tolist())

    def paste(self, *_: Any, **__: Any) -> None:
        """Nothing."""

    load = verify = close = show = seek = putpalette = paste

    def filter(self, _: Any) -> Image:
        """The picture as it is."""
        return self

    def __enter__(self) -> Image:
        return self

    def __exit__(self, *_: object) -> None: ...


def _channels(data: Any, wanted: int) -> Any:
    import torch

    more = torch.full((*data.shape[:2], max(0, wanted - data.shape[2])), 255, dtype=data.dtype)
    return torch.cat([data[..., :wanted], more], 2)


def new(mode: str, size: Any, color: Any = 0) -> Image:
    """A picture of one colour."""
    import torch

    colour = torch.as_tensor(color if isinstance(color, (int, tuple, list)) else 0).flatten().to(torch.uint8)
    return Image(colour.expand(size[1], size[0], CHANNELS[mode]).clone(), mode)


def fromarray(obj: Any, mode: Any = None) -> Image:
    """The picture of an array."""
    import torch

    data = torch.as_tensor(obj)
    data = data if data.dim() > 2 else data.unsqueeze(2)  # noqa: PLR2004 - rows and columns
    known = {1: "L", 3: "RGB", 4: "RGBA"}.get(int(data.shape[2]), "RGB")
    return Image(data.to(torch.uint8) if data.dtype is not torch.bool else data.to(torch.uint8) * 255, mode or known)


def drawn(name: str, *, mask: bool = False) -> Image:
    """A random picture, the same for the same name."""
    import torch

    generator = torch.Generator().manual_seed(random.Random(os.path.basename(name)).randrange(1 << 30))  # noqa: S311
    shape = (SIDE, SIDE, 1 if mask else 3)
    return Image(
        torch.randint(0, 2 if mask else 256, shape, generator=generator, dtype=torch.uint8), "L" if mask else "RGB"
    )


def picture_module() -> Any:
    """`PIL.Image`, or what stands in for it."""
    try:
        return importlib.import_module("PIL.Image")
    except ModuleNotFoundError:
        return sys.modules[__name__]
