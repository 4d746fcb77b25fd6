"""What hydra took: one path for the folder of the settings and the file in it, and whether settings may be added."""

from __future__ import annotations

import functools
import os
from typing import TYPE_CHECKING, Any

from ... import imports
from .names import Removed

if TYPE_CHECKING:
    from types import ModuleType

ENDINGS = (".yaml", ".yml")


class HydraArguments(Removed):
    """Arguments of `hydra.main` that are refused since hydra 1.0 and 1.2."""

    def prepare(self) -> None:
        """Patches the decorator when it is imported."""
        imports.after("hydra.main", self._patch)

    def _patch(self, module: ModuleType) -> None:
        hydra: Any = module
        main = hydra.main

        @functools.wraps(main)
        def decorator(*arguments: Any, **keywords: Any) -> Any:
            path = arguments[0] if arguments else keywords.get("config_path")
            if "strict" in keywords:
                self.took_argument("main", "strict", None, "hydra")
                del keywords["strict"]
            if (
                isinstance(path, str)
                and path.endswith(ENDINGS)
                and not arguments[1:]
                and not keywords.get("config_name")
            ):
                self.was_used(f"hydra.main(config_path={path!r})", "config_path and config_name")
                folder, name = os.path.split(path)
                return main(**{**keywords, "config_path": folder or ".", "config_name": os.path.splitext(name)[0]})
            return main(*arguments, **keywords)

        hydra.main = decorator
