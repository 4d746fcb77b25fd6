"""Looks for the first value that is not finite, and for the line that made it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ..instrument import Instrument as Base
from .births import OperationSite, born_in_backward, born_in_forward

if TYPE_CHECKING:
    from ...scopes import Here
    from ...watching.watch import Watch

MOST = 4  # answers that are looked at, where the script leaves them out


class Instrument(Base):
    """Checks outputs, losses, gradients and parameters until one is not finite: what never reaches one of them does no harm."""

    def __init__(self, watch: Watch) -> None:
        super().__init__(watch)
        self._found = False
        self._steps = 0
        self._born: tuple[int, str] | None = None
        self._pending: tuple[str, int, str, Any, str] | None = None
        self._looked = 0
        self._last: tuple[Any, tuple[Any, ...], dict[str, Any]] | None = None

    # --- what is looked at ---

    def on_forward(
        self, module: Any, arguments: tuple[Any, ...], keywords: dict[str, Any], output: Any, here: Here, event: int
    ) -> None:
        """A module answered: where the answer is not finite, it runs again on a copy, operation by operation.

        It matters when it goes backward, or is scored: the script may leave out such a batch, or rows of padding.
        """
        training = self.watch.torch.is_grad_enabled()
        if self._found:
            return
        if training and not any(each.requires_grad for each in self.watch.marks.tensors((arguments, keywords))):
            self._last = module, arguments, keywords
        if not self._bad(output) or self._kind(output) == "inf" or self._looked >= MOST:
            return  # infinite scores may mask
        self._looked += 1
        site, operation, what = here.site, "", "activation"
        if self._bad(arguments) or self._bad(keywords):
            what = "batch"
        elif self._bad(list(module.parameters())):
            what = "parameter"
        else:
            born = born_in_forward(self.watch, module, arguments, keywords, self._kind(output))
            site, operation = born.site or here.site, born.operation
        self._pending = what, site, self.watch.recorder.caller(here.site), output, operation
        if not training and self._lost(output):
            self._tell_pending(here)

    def on_loss(
        self, loss: str, arguments: tuple[Any, ...], keywords: dict[str, Any], value: Any, here: Here, event: int
    ) -> None:
        """A loss was computed: it matters when it goes backward, or when it scores an answer that is not finite."""
        if not self._found and self._bad(value):
            self._born = here.site, loss
            if self._pending is not None and not self.watch.torch.is_grad_enabled():
                self._tell_pending(here)

    def before_backward(self, losses: list[Any], here: Here) -> None:
        """A value goes backward: one that was computed by hand is first seen here."""
        bad = [value for value in losses if not self._found and self._bad(value)]
        if bad and self._pending is not None and not self._scaled():
            self._tell_pending(here)
        elif not bad:
            self._pending = self._born = None
        for value in bad:
            if not self._found and (self._born is not None or not self._scaled()):
                site, operation = self._born or (here.site, "")
                self._tell("loss", here, site, self.watch.recorder.owner(here.site, "backward"), value, operation)

    def on_backward(self, losses: list[Any], got: list[Any], here: Here, event: int) -> None:
        """Gradients came, of a loss that is finite."""
        if self._found or self.watch.optimizers.scaled is not None or self._scaled():
            return
        for tensor in got:
            if tensor.grad is not None and self._bad(tensor.grad):
                name = self.watch.recorder.owner(here.site, "backward")
                born = born_in_backward(self.watch, *self._last) if self._last is not None else OperationSite()
                self._tell("gradient", here, born.site or here.site, name, tensor.grad, born.operation)
                return

    def on_step(self, optimizer: Any, here: Here, event: int) -> None:
        """An update was made."""
        self._steps += 1
        self._last = None
        if optimizer is not None and not self._found:
            for group in optimizer.param_groups:
                self._look("parameter", group["params"], here, self.watch.optimizers.name(optimizer, here))

    # --- how ---

    def _tell_pending(self, here: Here) -> None:
        if self._pending is not None:
            what, site, name, output, operation = self._pending
            self._tell(what, here, site, name, output, operation)

    def _scaled(self) -> bool:
        """Whether a gradient scaler is at work, which takes notice of infinite gradients by itself."""
        return bool(self.watch.scaling.built)

    def _look(self, what: str, tensors: Any, here: Here, name: str, operation: str = "") -> None:
        if not self._found and self._bad(list(tensors)):
            self._tell(what, here, here.site, name, list(tensors), operation)

    def _bad(self, value: Any) -> bool:
        """Whether something in a value is not finite."""
        torch = self.watch.torch
        with self.watch.unwatched(), torch.no_grad():
            for tensor in self.watch.marks.tensors(value):
                if tensor.is_floating_point() and not tensor.is_sparse and tensor.numel():
                    total = float(tensor.detach().sum())
                    if not math.isfinite(total) and not bool(torch.isfinite(tensor.detach()).all()):
                        return True
        return False

    def _lost(self, value: Any) -> bool:
        """Whether nothing but NaN is in a value."""
        with self.watch.unwatched():
            return all(
                bool(tensor.detach().isnan().all())
                for tensor in self.watch.marks.tensors(value)
                if tensor.is_floating_point()
            )

    def _kind(self, value: Any) -> str:
        with self.watch.unwatched():
            tensors = self.watch.marks.tensors(value)
            return (
                "nan"
                if any(bool(each.detach().isnan().any()) for each in tensors if each.is_floating_point())
                else "inf"
            )

    def _tell(self, what: str, here: Here, site: int, name: str, value: Any, operation: str = "") -> None:
        self._found = True
        self.watch.recorder.event(
            "NonFinite",
            here,
            site=site,
            what=what,
            name=name,
            value=self._kind(value),
            operation=operation,
            step=self._steps,
            skipped=False,
        )
