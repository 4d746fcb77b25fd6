"""Loaders that accelerate prepares: what is taken of them is taken of the script's own, where one process has all rows."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from ...imports import after

if TYPE_CHECKING:
    from types import ModuleType

    from ..watch import Watch

PREPARES = "prepare_data_loader"


class Watcher:
    """Has a loader that accelerate builds over the rows of another one stand for it."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch

    def install(self) -> None:
        """Wraps what prepares a loader when it is imported, before others get it from there; a checkup takes batches by itself."""
        if not self._watch.recorder.plan.get("checkup"):
            after("accelerate.data_loader", self._wrap)

    def _wrap(self, module: ModuleType) -> None:
        original = vars(module).get(PREPARES)
        if original is not None:
            setattr(module, PREPARES, self._preparing(original, module))

    def _preparing(self, original: Any, module: Any) -> Any:
        watch, same = self._watch, self._same

        @functools.wraps(original)
        def prepare_data_loader(dataloader: Any, *arguments: Any, **keywords: Any) -> Any:
            processes = keywords.get("num_processes") or module.PartialState().num_processes
            if processes != 1 or not watch.recorder.references.known(dataloader):
                return original(dataloader, *arguments, **keywords)
            with watch.unwatched():
                prepared = original(dataloader, *arguments, **keywords)
            watch.recorder.safely(same, prepared, dataloader)
            return prepared

        return prepare_data_loader

    def _same(self, prepared: Any, given: Any) -> None:
        for each in (prepared, getattr(prepared, "base_dataloader", None)):
            if each is not None and each is not given:
                self._watch.recorder.references.same(each, given)
