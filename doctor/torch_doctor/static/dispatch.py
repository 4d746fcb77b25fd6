"""Which function handles which sort of node or value: tables that the modules of `language` fill when they are imported."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, TypeVar

from torch_doctor.packages import modules

if TYPE_CHECKING:
    from collections.abc import Callable

K = TypeVar("K")
H = TypeVar("H")

STATEMENTS: Final[dict[type, Callable[..., bool]]] = {}
"""What executing a statement does, by the class of its node; False where the path does not go on."""
EXPRESSIONS: Final[dict[type, Callable[..., Any]]] = {}
"""What an expression evaluates to, by the class of its node."""
ATTRIBUTES: Final[dict[type, Callable[..., Any]]] = {}
"""What taking an attribute gives, by the class of the value."""
CALLS: Final[dict[type, Callable[..., Any]]] = {}
"""What calling a value does, by its class."""
VERBS: Final[dict[str, Callable[..., Any]]] = {}
"""What a run can be asked for beside these, by the name of its method."""


def handles(table: dict[K, H], *keys: K) -> Callable[[H], H]:
    """Enter a handler into a table, for these keys."""

    def enter(handler: H) -> H:
        table.update(dict.fromkeys(keys, handler))
        return handler

    return enter


@cache
def load() -> None:
    """Import all modules that fill these tables, register handlers for libraries, or observe runs."""
    for package in ("language", "training", "observers"):
        for module in modules(f"torch_doctor.static.{package}"):
            import_module(module)
