"""Losses that models compute of their labels: what is to be said of one is said once gradients come back to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...watching.watch import Watch


class OwnLosses:
    """Events about losses that a script may leave alone, and compute another one of the scores."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._waiting: list[tuple[list[Any], Callable[[], object]]] = []

    def say(self, loss: Any, write: Callable[[], object]) -> None:
        """Writes an event about a loss: later, where gradients can come back to it."""
        if not loss.requires_grad:
            write()
            return
        got: list[Any] = []
        loss.register_hook(got.append)
        self._waiting.append((got, write))

    def went_backward(self) -> None:
        """A backward pass has ended: writes of the losses that it came to."""
        for got, write in self._waiting:
            with self._watch.unwatched():
                came = any(bool(gradient.any()) for gradient in got)
            if came:
                write()
        self._waiting = [each for each in self._waiting if not each[0]]
