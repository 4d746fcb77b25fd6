"""Models with fewer layers of a kind, where an earlier probe came to no update within its time."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from ..imports import after
from . import told
from .stand_in import StandIn

if TYPE_CHECKING:
    from types import ModuleType

WHY = "an earlier probe was too slow"
STACKS = ("TransformerEncoder", "TransformerDecoder")


class ThinnerModels(StandIn):
    """Builds each stage of a residual network, and each stack of a transformer, with a single layer: what goes in and out stays."""

    replaces = WHY
    voids = (told.VALUES, told.SHAPES, told.WEIGHTS, told.INSIDE)

    def prepare(self) -> None:
        """Hooks the models of torchvision."""
        if "time" in self.learnt.kinds():
            after("torchvision.models.resnet", self._patch_resnet)

    def needed(self, torch: Any) -> bool:  # noqa: ARG002 - it asks what was learnt
        """Whether there was no time for whole models."""
        return "time" in self.learnt.kinds()

    def with_torch(self, torch: Any) -> None:
        """Patches the stacks of layers."""
        for name in STACKS:
            kind = getattr(torch.nn, name)
            kind.__init__ = self._with_one(kind.__init__, name)

    def _with_one(self, build: Any, name: str) -> Any:
        @functools.wraps(build)
        def built(stack: Any, layer: Any, num_layers: int, *arguments: Any, **keywords: Any) -> None:
            if num_layers > 1 and self.learnt.of("time"):
                self.tell(f"{name}({num_layers} layers)", "one layer")
            build(stack, layer, min(num_layers, 1), *arguments, **keywords)

        return built

    def _patch_resnet(self, module: ModuleType) -> None:
        found: Any = module
        make = getattr(found, "_resnet", None)
        if make is None:
            return

        @functools.wraps(make)
        def made(block: Any, layers: Any, *arguments: Any, **keywords: Any) -> Any:
            if self.learnt.of("time"):
                self.tell(f"ResNet({'-'.join(map(str, layers))})", f"one block in each of its {len(layers)} stages")
            return make(block, [1] * len(layers), *arguments, **keywords)

        found._resnet = made
