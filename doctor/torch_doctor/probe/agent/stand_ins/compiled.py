"""`torch.compile` leaves what it is given as it is: compiling takes longer than the steps of a probe."""

from __future__ import annotations

import functools
from typing import Any

from . import told
from .stand_in import StandIn


class Compiler(StandIn):
    """Leaves models uncompiled."""

    replaces = "compilation, which takes long"
    voids = (told.COMPILE,)

    def with_torch(self, torch: Any) -> None:
        """Patches `torch.compile` and `Module.compile`."""
        original = torch.compile

        def tell() -> None:
            self.tell("torch.compile", "the code as it is written")

        @functools.wraps(original)
        def as_written(model: Any = None, *_: Any, **__: Any) -> Any:
            tell()
            return model if model is not None else lambda function: function

        torch.compile = as_written
        torch.nn.Module.compile = lambda *_, **__: tell()
