"""`torch.compile` leaves what it is given as it is: compiling takes longer than the steps of a probe."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from . import told

if TYPE_CHECKING:
    from types import ModuleType

    from .told import Teller


def run_as_written(torch: ModuleType, teller: Teller) -> None:
    """Patches `torch.compile` and `Module.compile`."""
    original: Any = torch.compile

    def tell() -> None:
        teller.stand_in("torch.compile", "compilation, which takes long", "the code as it is written", [told.COMPILE])

    @functools.wraps(original)
    def as_written(model: Any = None, *_: Any, **__: Any) -> Any:
        tell()
        return model if model is not None else lambda function: function

    torch.compile = as_written  # type: ignore[attr-defined]
    torch.nn.Module.compile = lambda *_, **__: tell()
