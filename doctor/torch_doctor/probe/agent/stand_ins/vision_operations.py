"""The compiled operations of torchvision, where they do not load beside this torch."""

from __future__ import annotations

import functools
import importlib
from typing import TYPE_CHECKING, Any

from ..imports import after
from . import told
from .stand_in import StandIn
from .vision_library import REPLICAS

if TYPE_CHECKING:
    from types import ModuleType


class VisionOperations(StandIn):
    """Computes in Python what models need that find objects."""

    replaces = "the compiled operations of torchvision do not load beside this torch"

    def prepare(self) -> None:
        """Patches them when they are imported."""
        after("torchvision.ops.boxes", self._patch_boxes)
        after("torchvision.ops.roi_align", self._patch_regions)

    def _patch_boxes(self, module: ModuleType) -> None:
        boxes: Any = module
        compiled = getattr(boxes, "nms", None)
        if compiled is None or _are_loaded():
            return
        computed = importlib.import_module(f"{REPLICAS}.operations").nms

        @functools.wraps(compiled)
        def nms(*arguments: Any, **keywords: Any) -> Any:
            self.tell("torchvision.ops.nms", "the same in Python")
            return computed(*arguments, **keywords)

        boxes.nms = nms

    def _patch_regions(self, module: ModuleType) -> None:
        """This is there in Python, too, but would be compiled first, which takes minutes."""
        regions: Any = module
        if hasattr(regions, "_roi_align") and not _are_loaded():
            computed = importlib.import_module(f"{REPLICAS}.operations").roi_align

            def aligned(features: Any, rois: Any, *others: Any) -> Any:
                exact = others[3] > 0  # how many points of a cell are read
                self.tell("torchvision.ops.roi_align", "the same in Python", voids=() if exact else (told.INSIDE,))
                return computed(features, rois, *others)

            regions._roi_align = aligned


def _are_loaded() -> bool:
    has_ops = getattr(importlib.import_module("torchvision.extension"), "_has_ops", None)
    return has_ops is None or bool(has_ops())
