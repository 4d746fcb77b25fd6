"""What albumentations had: crops of a height and a width, and transforms that have other names now."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from ... import imports
from .. import told
from .names import Removed

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

RENAMED = {
    "Flip": "HorizontalFlip",
    "RandomBrightness": "RandomBrightnessContrast",
    "RandomContrast": "RandomBrightnessContrast",
    "JpegCompression": "ImageCompression",
    "Cutout": "CoarseDropout",
    "IAAAdditiveGaussianNoise": "GaussNoise",
    "IAAPerspective": "Perspective",
    "IAASharpen": "Sharpen",
    "IAAEmboss": "Emboss",
    "IAAAffine": "Affine",
    "IAAPiecewiseAffine": "PiecewiseAffine",
    "IAASuperpixels": "Superpixels",
    "IAAFliplr": "HorizontalFlip",
    "IAAFlipud": "VerticalFlip",
}
SIZED = {"RandomResizedCrop": 0, "RandomSizedCrop": 1}
"""Crops of one size, by how many arguments come before it."""


class AlbumentationsNames(Removed):
    """Arguments and names that albumentations had."""

    def prepare(self) -> None:
        """Patches the package when it is imported."""
        imports.after("albumentations", self._patch)

    def _patch(self, module: ModuleType) -> None:
        package: Any = module
        for name, place in SIZED.items():
            kind = getattr(package, name, None)
            if kind is not None:
                kind.__init__ = self._sized(name, kind.__init__, place)
        for name, now in RENAMED.items():
            if not hasattr(package, name) and hasattr(package, now):
                setattr(package, name, self._renamed(name, now, getattr(package, now)))

    def _sized(self, name: str, build: Callable[..., None], place: int) -> Any:
        @functools.wraps(build)
        def built(this: Any, *arguments: Any, **keywords: Any) -> None:
            given = list(arguments)
            apart = given[place : place + 2]
            if len(apart) == 2 and all(isinstance(each, int) for each in apart):  # noqa: PLR2004 - a height and a width
                given[place : place + 2] = [tuple(apart)]
                self.was_used(f"{name}(height, width)", "size=(height, width)")
            elif "height" in keywords and "width" in keywords:
                keywords["size"] = (keywords.pop("height"), keywords.pop("width"))
                self.was_used(f"{name}(height=…, width=…)", "size=(height, width)")
            build(this, *given, **keywords)

        return built

    def _renamed(self, name: str, now: str, kind: Any) -> Any:
        """The transform that it is called now, without arguments of the old one."""

        def build(*_: Any, p: float = 0.5, **__: Any) -> Any:
            self.tell(f"albumentations.{name}", f"albumentations.{now}(p={p})", voids=[told.VALUES])
            return kind(p=p)

        return build
