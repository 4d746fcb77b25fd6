"""Smaller pictures for models of torchvision that find objects, and enlarge all that they get."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from ..imports import after
from . import told
from .cuda.devices import needed
from .stand_in import StandIn

if TYPE_CHECKING:
    from types import ModuleType

    from .stand_in import Setting

SIDE, LONGEST = 128, 256  # pixels: those that they get have some hundred
REGIONS = 64  # of a picture that the loss is computed of


class SmallerPictures(StandIn):
    """Has made-up pictures enlarged less, and fewer regions compared, where the CPU is too slow for what is meant for a GPU.

    These models take pictures of any size; those that scale all to one size are left alone.
    """

    replaces = "too slow on the CPU"
    voids = (told.VALUES, told.SHAPES)
    installed_after = ("SmallBatches",)

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        self._torch: Any = None

    def prepare(self) -> None:
        """Hooks what scales the pictures."""
        after("torchvision.models.detection.transform", self._patch)
        after("torchvision.models.detection.roi_heads", self._patch_heads)

    def with_torch(self, torch: Any) -> None:
        """Learns whether there is a GPU."""
        self._torch = torch

    def _patch(self, module: ModuleType) -> None:
        transform: Any = vars(module).get("GeneralizedRCNNTransform")
        resize = getattr(transform, "resize", None)
        if resize is None:
            return

        @functools.wraps(resize)
        def resized(self_: Any, image: Any, target: Any = None) -> Any:
            sides = self_.min_size
            largest = max(sides, default=0) if isinstance(sides, (list, tuple)) else 0
            if self_.fixed_size is not None or largest <= SIDE or not self._is_slow():
                return resize(self_, image, target)
            self.tell(f"images of {largest} pixels", f"images of {SIDE}")
            before = self_.min_size, self_.max_size
            self_.min_size, self_.max_size = (SIDE,), LONGEST
            try:
                return resize(self_, image, target)
            finally:
                self_.min_size, self_.max_size = before

        transform.resize = resized

    def _patch_heads(self, module: ModuleType) -> None:
        heads: Any = vars(module).get("RoIHeads")
        select = getattr(heads, "select_training_samples", None)
        if select is None:
            return

        @functools.wraps(select)
        def selected(self_: Any, *arguments: Any, **keywords: Any) -> Any:
            sampler = getattr(self_, "fg_bg_sampler", None)
            count = getattr(sampler, "batch_size_per_image", 0)
            if sampler is None or count <= REGIONS or not self._is_slow():
                return select(self_, *arguments, **keywords)
            self.tell(f"{count} regions of each image", f"{REGIONS} regions")
            sampler.batch_size_per_image = REGIONS
            try:
                return select(self_, *arguments, **keywords)
            finally:
                sampler.batch_size_per_image = count

        heads.select_training_samples = selected

    def _is_slow(self) -> bool:
        """Whether pictures are made up, and there is no GPU for which this was meant, or no time for them."""
        if told.VALUES not in self.teller.voided:
            return False
        return "time" in self.learnt.kinds() or needed(self._torch, self.plan)
