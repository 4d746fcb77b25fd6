"""timm: models of pictures with pretrained weights, and what trains them."""

from __future__ import annotations

import functools
import os
from typing import TYPE_CHECKING, Any

from ..imports import after
from ..stand_ins import told
from ..stand_ins.stand_in import StandIn
from ..stand_ins.weights import FETCHED, RANDOM
from .library import Library

if TYPE_CHECKING:
    from types import ModuleType

LIBRARY = Library(
    "timm",
    repositories=("pytorch-image-models", "timm"),
    models="timm",
    create="create_model",
)
BUILDERS = ("timm.models._builder", "timm.models.helpers")
"""The modules whose `load_pretrained` fetches weights: since 0.8, and before."""


class TimmWeights(StandIn):
    """Leaves the random weights of a model, unless others are in a file that is there."""

    replaces = FETCHED
    voids = (told.WEIGHTS,)

    def prepare(self) -> None:
        """Patches timm when it is imported."""
        for name in BUILDERS:
            after(name, self._patch)

    def _patch(self, module: ModuleType) -> None:
        builder: Any = module
        if not hasattr(builder, "load_pretrained"):
            return
        load = builder.load_pretrained

        @functools.wraps(load)
        def loaded(model: Any, pretrained_cfg: Any = None, *arguments: Any, **keywords: Any) -> None:
            given = (
                pretrained_cfg if isinstance(pretrained_cfg, dict) else vars(pretrained_cfg) if pretrained_cfg else {}
            )
            file = given.get("file")
            if file and os.path.exists(file):
                load(model, pretrained_cfg, *arguments, **keywords)
                return
            name = given.get("hf_hub_id") or given.get("architecture") or type(model).__name__
            self.tell(str(name), RANDOM)

        builder.load_pretrained = loaded
