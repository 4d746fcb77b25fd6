"""Parameters of click's commands, and of typer's, that must be given and were not."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from ...imports import after
from .. import told
from ..stand_in import StandIn
from .values import WHY, made_up

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType


class ClickOptions(StandIn):
    """Fills what click requires, and typer, which stands on it."""

    replaces = "an argument that must be given"
    voids = (told.ARGUMENTS,)

    def prepare(self) -> None:
        """Patches click and typer when they are imported."""
        for name in ("click.core", "typer.core"):
            after(name, functools.partial(_patch_click, self))


def _patch_click(stand_in: StandIn, module: ModuleType) -> None:
    parameter: Any = getattr(module, "_TyperParameter", getattr(module, "Parameter", None))  # typer has its own click
    if parameter is None:
        return
    missing: Callable[..., Any] = parameter.process_value

    @functools.wraps(missing)
    def process_value(self: Any, context: Any, value: Any) -> Any:
        if value in (None, ()) and self.required:
            sort = getattr(self, "type", None) or self.type_descriptor  # typer's
            word = getattr(sort, "name", "str")
            kind = {"integer": int, "float": float, "boolean": bool}.get(word, getattr(sort, "annotation", None))
            choices = list(getattr(sort, "choices", None) or ())
            about = getattr(self, "help", None) or ""
            made = made_up(self.name, kind, choices, about, stand_in.sources)
            if made is None:
                entry = {"name": self.name, "kind": word, "help": about}
                text = f"the script needs the argument {self.name}: give it after `--`"
                raise stand_in.teller.asked(text, [entry])
            stand_in.tell(f"{self.name} {made}", "a value made up", why=WHY)
            value = made
        return missing(self, context, value)

    parameter.process_value = process_value
