"""Parameters of click's commands, and of typer's, that must be given and were not."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from ...imports import after
from .. import told
from .values import WHY, made_up

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from ..source import Sources
    from ..told import Teller


def prepare(sources: Sources, teller: Teller) -> None:
    """Patches click and typer when they are imported."""
    for name in ("click.core", "typer.core"):
        after(name, functools.partial(_patch_click, sources, teller))


def _patch_click(sources: Sources, teller: Teller, module: ModuleType) -> None:
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
            made = made_up(self.name, kind, choices, about, sources)
            if made is None:
                entry = {"name": self.name, "kind": word, "help": about}
                text = f"the script needs the argument {self.name}: give it after `--`"
                raise teller.asked(text, [entry])
            teller.stand_in(f"{self.name} {made}", WHY, "a value made up", [told.ARGUMENTS])
            value = made
        return missing(self, context, value)

    parameter.process_value = process_value
