"""`torch.compile` leaves what it is given as it is: compiling takes longer than the steps of a probe."""

from __future__ import annotations

import functools
import sys
from typing import TYPE_CHECKING, Any

from ..imports import after
from . import told
from .stand_in import Setting, StandIn

if TYPE_CHECKING:
    from collections.abc import Callable

COMPILER = "torch._dynamo"
OWN = "_orig_mod"
"""Where a compiled module keeps the one that it was made of (https://github.com/pytorch/pytorch/issues/101107)."""


class Compiler(StandIn):
    """Leaves models uncompiled, and remembers which of them would have been, with `original` and which arguments."""

    replaces = "compiling is slow"
    voids = (told.COMPILE,)

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        self.original: Any = None
        self.compiled: list[tuple[Any, dict[str, Any]]] = []

    def with_torch(self, torch: Any) -> None:
        """Patches `torch.compile`, `Module.compile`, and what older scripts call in place of them."""
        self.original = original = torch.compile
        module = torch.nn.Module

        @functools.wraps(original)
        def as_written(model: Any = None, *_: Any, **keywords: Any) -> Any:
            if model is None:
                return lambda function: as_written(function, **keywords)
            self._tell("torch.compile", model, keywords)
            if isinstance(model, module):
                vars(model)[OWN] = model  # beside the registered ones: names of parameters stay as they are
            return model

        torch.compile = as_written
        module.compile = lambda self_, *_, **keywords: self._tell("torch.compile", self_, keywords)
        after(COMPILER, lambda dynamo: self._with_compiler(dynamo, as_written))

    def _tell(self, what: str, thing: Any, keywords: dict[str, Any]) -> None:
        self.tell(what, "uncompiled code")
        self.compiled.append((thing, keywords))

    def _with_compiler(self, dynamo: Any, as_written: Callable[..., Any]) -> None:
        """Patches `torch._dynamo.optimize` and its like: torch's own calls of them get what they ask for."""

        def patched(original: Any, *, whole: bool) -> Any:
            @functools.wraps(original)
            def optimize(*arguments: Any, **keywords: Any) -> Any:
                if sys._getframe(1).f_globals.get("__name__", "").partition(".")[0] == "torch":
                    return original(*arguments, **keywords)
                options = {"fullgraph": whole or bool(keywords.get("nopython"))}
                if "dynamic" in keywords:
                    options["dynamic"] = keywords["dynamic"]
                return as_written(**options)

            return optimize

        for name in ("optimize", "optimize_assert"):
            if hasattr(dynamo, name):
                setattr(dynamo, name, patched(getattr(dynamo, name), whole=name != "optimize"))
