"""Random pictures, and masks."""

from __future__ import annotations

import functools
import io

USUAL = 256
_LEARNT = [USUAL]
FORMATS = {".tif": "TIFF", ".tiff": "TIFF", ".bmp": "BMP", ".gif": "GIF"}
"""Suffixes by which readers go; the others go by the first bytes."""


def side() -> int:
    """The points along one side of a picture."""
    return _LEARNT[-1]


def have_side(length: int) -> None:
    """Has all pictures from now on be of another size."""
    _LEARNT.append(length)


@functools.lru_cache(maxsize=16)
def picture(seed: int, ending: str = "", *, mask: bool = False) -> bytes:
    """A random picture as a JPEG file, or a mask of 0 and 1 as PNG, where no reader goes by another suffix."""
    import numpy as np
    from PIL import Image

    draw = np.random.default_rng(seed)
    shape = (16, 16) if mask else (16, 16, 3)
    small = draw.integers(0, 2 if mask else 256, shape, dtype=np.uint8)
    file = io.BytesIO()
    Image.fromarray(small).resize((side(), side()), Image.Resampling.NEAREST).save(
        file, FORMATS.get(ending) or ("PNG" if mask else "JPEG")
    )
    return file.getvalue()
