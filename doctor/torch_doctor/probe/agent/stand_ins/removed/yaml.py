"""What PyYAML had: a loader that need not be named."""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any

from ... import imports
from .names import Removed

if TYPE_CHECKING:
    from types import ModuleType


class YamlNames(Removed):
    """`yaml.load` without a loader, which took the one that reads everything that is safe."""

    def prepare(self) -> None:
        """Patches the functions when the package is imported."""
        imports.after("yaml", self._patch)

    def _patch(self, module: ModuleType) -> None:
        library: Any = module
        for name in ("load", "load_all"):
            function = getattr(library, name)
            if inspect.signature(function).parameters["Loader"].default is inspect.Parameter.empty:
                setattr(library, name, self._without_loader(f"yaml.{name}", function, library.FullLoader))

    def _without_loader(self, what: str, function: Any, usual: Any) -> Any:
        @functools.wraps(function)
        def load(stream: Any, Loader: Any = None) -> Any:  # noqa: N803 - as PyYAML has it
            if Loader is None and self.sources.called_by_user():
                self.was_used(f"{what} without a loader", "yaml.FullLoader")
                return function(stream, usual)
            return function(stream, Loader) if Loader is not None else function(stream)

        return load
