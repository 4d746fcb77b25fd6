"""Pretrained models of `timm` and `torch.hub`: the same architecture with random weights, where the library that has it is here."""

from __future__ import annotations

import functools
import importlib
import os
from typing import TYPE_CHECKING, Any

from ..imports import after
from . import told
from .weights import FETCHED

if TYPE_CHECKING:
    from types import ModuleType

    from .told import Teller

RANDOM = "the random ones of the same model"
# Word in the name of a repository → the library of the same models, and what there makes one.
LIBRARIES = {
    "pytorch/vision": ("torchvision.models", ""),
    "pytorch-image-models": ("timm", "create_model"),
    "timm": ("timm", "create_model"),
}


def with_torch(torch: Any, teller: Teller) -> None:
    """Patches `torch.hub.load`, and timm when it is imported."""
    load = torch.hub.load

    @functools.wraps(load)
    def loaded(repo_or_dir: str, model: str, *arguments: Any, **keywords: Any) -> Any:
        local = keywords.get("source") == "local" or _is_cached(torch, repo_or_dir)
        found = next((library for word, library in LIBRARIES.items() if word in repo_or_dir), None)
        if local or found is None:
            try:
                return load(repo_or_dir, model, *arguments, **keywords)
            except (OSError, RuntimeError):
                if not local:
                    text = f"the script fetches {model} of {repo_or_dir} by torch.hub: fetch it first"
                    teller.missing(f"{repo_or_dir} {model}", text)
                raise
        for key in ("source", "trust_repo", "force_reload", "verbose", "skip_validation"):
            keywords.pop(key, None)
        library = importlib.import_module(found[0])
        what = f"torch.hub.load({repo_or_dir!r}, {model!r})"
        teller.stand_in(
            what, "a model that would be fetched", f"the one of {found[0]}, with random weights", [told.WEIGHTS]
        )
        make = functools.partial(getattr(library, found[1]), model) if found[1] else getattr(library, model)
        return make(*arguments, **keywords)

    torch.hub.load = loaded
    for name in ("timm.models._builder", "timm.models.helpers"):
        after(name, functools.partial(_patch_timm, teller))


def _is_cached(torch: Any, repository: str) -> bool:
    """Whether the code of a repository was fetched before."""
    name = repository.partition(":")[0].replace("/", "_")
    folder = torch.hub.get_dir()
    return os.path.isdir(folder) and any(entry.startswith(f"{name}_") for entry in os.listdir(folder))


def _patch_timm(teller: Teller, module: ModuleType) -> None:
    builder: Any = module
    if not hasattr(builder, "load_pretrained"):
        return
    load = builder.load_pretrained

    @functools.wraps(load)
    def loaded(model: Any, pretrained_cfg: Any = None, *arguments: Any, **keywords: Any) -> None:
        given = pretrained_cfg if isinstance(pretrained_cfg, dict) else vars(pretrained_cfg or object.__new__(_Nothing))
        file = given.get("file")
        if file and os.path.exists(file):
            load(model, pretrained_cfg, *arguments, **keywords)
            return
        name = given.get("hf_hub_id") or given.get("architecture") or type(model).__name__
        teller.stand_in(str(name), FETCHED, RANDOM, [told.WEIGHTS])

    builder.load_pretrained = loaded


class _Nothing:
    """Without attributes."""
