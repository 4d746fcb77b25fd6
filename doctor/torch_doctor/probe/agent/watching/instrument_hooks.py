"""What instruments are told."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..scopes import Here


class InstrumentHooks:
    """Methods that `Watch.tell` calls; each does nothing.

    `here` says where the user's code is (`here.site`, `here.scope`, `here.loops`), `event` is the number of the event that
    was just written.
    """

    def before_forward(self, module: Any, arguments: tuple[Any, ...], keywords: dict[str, Any], here: Here) -> None:
        """A module is about to be called as a whole by the user's code."""

    def on_forward(
        self, module: Any, arguments: tuple[Any, ...], keywords: dict[str, Any], output: Any, here: Here, event: int
    ) -> None:
        """It returned `output`."""

    def on_loss(
        self, loss: str, arguments: tuple[Any, ...], keywords: dict[str, Any], value: Any, here: Here, event: int
    ) -> None:
        """A loss of torch's, by its name, was computed from the arguments."""

    def before_backward(self, losses: list[Any], here: Here) -> None:
        """A backward pass from these tensors is about to begin."""

    def on_refused(self, losses: list[Any], here: Here) -> None:
        """Torch refused a backward pass from these tensors."""

    def on_backward(self, losses: list[Any], got: list[Any], here: Here, event: int) -> None:
        """A backward pass gave gradients to the tensors `got`."""

    def before_step(self, optimizer: Any, here: Here) -> None:
        """An optimizer is about to step."""

    def on_step(self, optimizer: Any, here: Here, event: int) -> None:
        """It stepped, or its scaler skipped the step."""

    def on_batch(self, batch: Any, here: Here, event: int) -> None:
        """A loader gave a batch."""

    def on_dataset(self, dataset: Any, event: int) -> None:
        """A loader is being built over a dataset that was not told of before."""

    def on_loader(self, loader: Any, workers: int, setup: Any, event: int, site: int) -> None:
        """A loader was built at a site; the script asked for so many workers, which `setup` sets up (None: nothing)."""

    def on_save(self, saved: Any, target: Any, here: Here, event: int) -> None:
        """`saved` was written to `target` by `torch.save`."""

    def on_dropped(self, key: int, value: Any) -> None:
        """A tensor was moved by the statement of this key, which leaves the result `value` alone."""

    def at_end(self, error: BaseException | None) -> None:
        """The script ended, with an exception or without one."""
