"""Models that `torch.hub` would fetch: the same architecture with random weights, where the library that has it is here."""

from __future__ import annotations

import functools
import importlib
import os
from typing import Any

from ..libraries import known
from . import told
from .stand_in import StandIn
from .unknown.things import current

REPOSITORIES = {word: library for library in known() for word in library.repositories}
"""Word in the name of a repository → the library of the same models."""


class TorchHub(StandIn):
    """Takes models from the library that the repository belongs to."""

    replaces = "the probe downloads nothing"
    voids = (told.WEIGHTS,)

    def with_torch(self, torch: Any) -> None:
        """Patches `torch.hub.load`."""
        load = torch.hub.load

        @functools.wraps(load)
        def loaded(repo_or_dir: str, model: str, *arguments: Any, **keywords: Any) -> Any:
            local = keywords.get("source") == "local" or _is_cached(torch, repo_or_dir)
            found = next((library for word, library in REPOSITORIES.items() if word in repo_or_dir), None)
            if local or found is None:
                what = f"torch.hub.load({repo_or_dir!r}, {model!r})"
                whole = None if local else current().elsewhere(what, "load", self.replaces)
                if whole is not None:
                    return whole
                try:
                    return load(repo_or_dir, model, *arguments, **keywords)
                except (OSError, RuntimeError):
                    if not local:
                        text = f"the script downloads {model} of {repo_or_dir} with torch.hub: download it first"
                        self.teller.missing(f"{repo_or_dir} {model}", text)
                    raise
            for key in ("source", "trust_repo", "force_reload", "verbose", "skip_validation"):
                keywords.pop(key, None)
            models = importlib.import_module(found.models)
            what = f"torch.hub.load({repo_or_dir!r}, {model!r})"
            self.tell(what, f"the model of {found.models} with random weights")
            make = functools.partial(getattr(models, found.create), model) if found.create else getattr(models, model)
            return make(*arguments, **keywords)

        torch.hub.load = loaded


def _is_cached(torch: Any, repository: str) -> bool:
    """Whether the code of a repository was fetched before."""
    name = repository.partition(":")[0].replace("/", "_")
    folder = torch.hub.get_dir()
    return os.path.isdir(folder) and any(entry.startswith(f"{name}_") for entry in os.listdir(folder))
