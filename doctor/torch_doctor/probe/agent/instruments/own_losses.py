"""Losses that models compute of their labels: what is to be said of one is said once gradients come back to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..scopes import Here
    from ..watching.watch import Watch


class OwnLosses:
    """Events about losses that a script may leave alone, and compute another one of the scores."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._recorder = watch.recorder
        self._waiting: list[tuple[list[Any], str, Here, dict[str, Any]]] = []

    def say(self, loss: Any, kind: str, here: Here, /, **fields: Any) -> None:
        """Writes an event about a loss: later, where gradients can come back to it."""
        if not loss.requires_grad:
            self._recorder.event(kind, here, **fields)
            return
        got: list[Any] = []
        loss.register_hook(got.append)
        self._waiting.append((got, kind, here, fields))

    def went_backward(self) -> None:
        """A backward pass has ended: writes of the losses that it came to."""
        for got, kind, here, fields in self._waiting:
            with self._watch.unwatched():
                came = any(bool(gradient.any()) for gradient in got)
            if came:
                self._recorder.event(kind, here, **fields)
        self._waiting = [each for each in self._waiting if not each[0]]
