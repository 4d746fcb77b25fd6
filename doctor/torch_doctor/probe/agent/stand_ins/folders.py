"""Folders of pictures, one for each class, where a script looks for them and there are none."""

from __future__ import annotations

import io
import os
from typing import TYPE_CHECKING, Any

from . import told

if TYPE_CHECKING:
    from .told import Teller

CLASSES, PICTURES = 10, 52  # in each class
SIDE = 256
READABLE = (".png", ".jpg", ".jpeg", ".bmp", ".webp", ".ppm", ".tif", ".tiff")


def make(root: str, extensions: Any, teller: Teller, what: str) -> bool:
    """Writes random pictures below `root`, which land in the scratch folder; False where pictures would not do.

    What is there already stays as it is, and a folder that has anything in it is none to fill.
    """
    if extensions is not None and not any(extension in READABLE for extension in extensions):
        return False
    if os.path.isdir(root) and any(os.scandir(root)):
        return False
    bodies = [picture(seed) for seed in range(8)]
    for number in range(CLASSES):
        folder = os.path.join(root, f"class_{number:02}")
        os.makedirs(folder, exist_ok=True)
        for picture in range(PICTURES):
            with open(os.path.join(folder, f"{picture:03}.jpg"), "wb") as file:
                file.write(bodies[(number + picture) % len(bodies)])
    how = f"{CLASSES * PICTURES} random pictures {SIDE}×{SIDE}, {CLASSES} classes"
    teller.stand_in(f"{what}({root!r})", "data that is not there", how, [told.VALUES])
    return True


def picture(seed: int) -> bytes:
    """A random picture, as a JPEG file."""
    import numpy
    from PIL import Image

    small = numpy.random.default_rng(seed).integers(0, 256, (16, 16, 3), dtype=numpy.uint8)
    file = io.BytesIO()
    Image.fromarray(small).resize((SIDE, SIDE)).save(file, "JPEG")
    return file.getvalue()
