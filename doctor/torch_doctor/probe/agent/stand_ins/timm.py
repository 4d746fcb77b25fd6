"""Pretrained weights of timm's models: the random ones of the same model stay."""

from __future__ import annotations

import functools
import os
from typing import TYPE_CHECKING, Any

from ..imports import after
from ..libraries.timm import BUILDERS
from . import told
from .stand_in import StandIn
from .weights import FETCHED, RANDOM

if TYPE_CHECKING:
    from types import ModuleType


class TimmWeights(StandIn):
    """Loads no weights into a model, unless they are in a file that is there."""

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
                pretrained_cfg if isinstance(pretrained_cfg, dict) else vars(pretrained_cfg or object.__new__(_Nothing))
            )
            file = given.get("file")
            if file and os.path.exists(file):
                load(model, pretrained_cfg, *arguments, **keywords)
                return
            name = given.get("hf_hub_id") or given.get("architecture") or type(model).__name__
            self.tell(str(name), RANDOM)

        builder.load_pretrained = loaded


class _Nothing:
    """Without attributes."""
