"""Keeps the signals that end the probe out of the script's hands."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Any

from . import real

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

KEPT = ("SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT")


def install(more: Iterable[str]) -> list[tuple[Any, Callable[..., Any]]]:
    """Remembers the script's handlers for `KEPT` and `more` (names) without setting them; returns (original, replacement)."""
    kept = {getattr(signal, name) for name in (*KEPT, *more) if hasattr(signal, name)}
    remembered: dict[int, Any] = {}

    def set_signal(signalnum: int, handler: Any) -> Any:
        """`signal.signal`; a handler for a signal that ends the probe is remembered only."""
        if signalnum not in kept:
            return real.set_signal(signalnum, handler)
        previous = get_signal(signalnum)
        remembered[signalnum] = handler
        return previous

    def get_signal(signalnum: int) -> Any:
        """`signal.getsignal`, as the script set it."""
        return remembered.get(signalnum, real.get_signal(signalnum))

    signal.signal = set_signal
    signal.getsignal = get_signal
    return [(real.set_signal, set_signal), (real.get_signal, get_signal)]
