"""Compilers that read the source of the functions a model calls: to them torch is as it was."""

from __future__ import annotations

import importlib
import inspect
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..watch import Watch

FRAMES_UP = 2  # the place of `_frames_up` among the arguments of `torch.jit.script`


class Watcher:
    """Puts torch's own functions back for as long as `torch.jit.script` looks at them."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch

    def install(self) -> None:
        """Wraps the compiler."""
        self._watch.patches.replace(self._watch.torch.jit, "script", self._reading)

    def _reading(self, original: Any) -> Any:
        def script(*arguments: Any, **keywords: Any) -> Any:
            if len(arguments) <= FRAMES_UP:  # the names of what is compiled are looked up in the caller's frame
                keywords["_frames_up"] = keywords.get("_frames_up", 0) + 1
            with self._watch.patches.suspended():
                self._watch.recorder.safely(self._introduce)
                return original(*arguments, **keywords)

        return script

    def _introduce(self) -> None:
        """Tells the compiler which operator each function is that stands in for one of torch's."""
        torch = self._watch.torch
        known: dict[int, str] = importlib.import_module("torch.jit._builtins")._get_builtin_table()
        for space in (torch, torch.fft, torch.nn.functional):
            for stand_in in list(vars(space).values()):
                if "__wrapped__" in getattr(stand_in, "__dict__", ()) and id(stand_in) not in known:
                    operator = known.get(id(inspect.unwrap(stand_in)))
                    if operator is not None:
                        known[id(stand_in)] = operator
