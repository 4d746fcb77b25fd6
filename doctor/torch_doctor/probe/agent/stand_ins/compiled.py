"""`torch.compile` leaves what it is given as it is: compiling takes longer than the steps of a probe."""

from __future__ import annotations

import functools
from typing import Any

from . import told
from .stand_in import Setting, StandIn


class Compiler(StandIn):
    """Leaves models uncompiled, and remembers which of them would have been, with `original` and which arguments."""

    replaces = "compilation, which takes long"
    voids = (told.COMPILE,)

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        self.original: Any = None
        self.compiled: list[tuple[Any, dict[str, Any]]] = []

    def with_torch(self, torch: Any) -> None:
        """Patches `torch.compile` and `Module.compile`."""
        self.original = original = torch.compile

        def tell(thing: Any, keywords: dict[str, Any]) -> None:
            self.tell("torch.compile", "the code as it is written")
            self.compiled.append((thing, keywords))

        @functools.wraps(original)
        def as_written(model: Any = None, *_: Any, **keywords: Any) -> Any:
            if model is None:
                return lambda function: as_written(function, **keywords)
            tell(model, keywords)
            return model

        torch.compile = as_written
        torch.nn.Module.compile = lambda module, *_, **keywords: tell(module, keywords)
