"""Names that albumentations had."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ... import imports
from .names import Removed, moved

if TYPE_CHECKING:
    from types import ModuleType

NOW = {
    "Flip": "HorizontalFlip",
    "Cutout": "CoarseDropout",
    "JpegCompression": "ImageCompression",
    "RandomBrightness": "RandomBrightnessContrast",
    "RandomContrast": "RandomBrightnessContrast",
    "IAAAdditiveGaussianNoise": "GaussNoise",
    "IAAAffine": "Affine",
    "IAAEmboss": "Emboss",
    "IAAFliplr": "HorizontalFlip",
    "IAAFlipud": "VerticalFlip",
    "IAAPerspective": "Perspective",
    "IAAPiecewiseAffine": "ElasticTransform",
    "IAASharpen": "Sharpen",
    "IAASuperpixels": "Superpixels",
}
"""What does the like today."""
PACKAGE = "albumentations"


class AlbumentationsNames(Removed):
    """Augmentations that are called otherwise now, or have something near."""

    def prepare(self) -> None:
        """Patches the package when it is imported."""
        imports.after(PACKAGE, self._patch)

    def _patch(self, module: ModuleType) -> None:
        self.names(module, {name: moved(f"{PACKAGE}:{now}") for name, now in NOW.items() if hasattr(module, now)})
