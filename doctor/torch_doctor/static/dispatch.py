"""Tables of handlers, which the handlers themselves fill."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

K = TypeVar("K")
H = TypeVar("H")


def handles(table: dict[K, H], *keys: K) -> Callable[[H], H]:
    """Enter a handler into a table, for these keys."""

    def enter(handler: H) -> H:
        table.update(dict.fromkeys(keys, handler))
        return handler

    return enter
