"""Looks for the first value that is not finite, and for the line that made it."""

from __future__ import annotations

import copy
import math
from typing import TYPE_CHECKING, Any

from .instrument import Instrument as Base

if TYPE_CHECKING:
    from ..scopes import Here
    from ..watching.watch import Watch

LARGEST = 50_000_000  # parameters of a model that is copied to run again


class Instrument(Base):
    """Checks outputs, losses, gradients and parameters until one is not finite: what never reaches one of them does no harm."""

    def __init__(self, watch: Watch) -> None:
        super().__init__(watch)
        self._found = False
        self._steps = 0
        self._born: tuple[int, str] | None = None
        self._pending: tuple[str, int, str, Any, str] | None = None

    # --- what is looked at ---

    def on_forward(
        self, module: Any, arguments: tuple[Any, ...], keywords: dict[str, Any], output: Any, here: Here, event: int
    ) -> None:
        """A module answered: where the answer is not finite, it runs again on a copy, operation by operation."""
        if self._found or not self._bad(output) or self._kind(output) == "inf":
            return  # infinite scores may mask
        name = self.watch.recorder.caller(here.site)
        if self._bad(arguments) or self._bad(keywords):
            self._tell("batch", here, here.site, name, output)
            return
        if self._bad(list(module.parameters())):
            self._tell("parameter", here, here.site, name, output)
            return
        site, operation = self._again(module, arguments, keywords, self._kind(output))
        if self.watch.torch.is_grad_enabled() or self._lost(output):
            self._tell("activation", here, site or here.site, name, output, operation)
        else:  # rows of padding may be left out of the score
            self._pending = "activation", site or here.site, name, output, operation

    def on_loss(
        self, loss: str, arguments: tuple[Any, ...], keywords: dict[str, Any], value: Any, here: Here, event: int
    ) -> None:
        """A loss was computed: it matters when it goes backward, or when it scores an answer that is not finite."""
        if not self._found and self._bad(value):
            self._born = here.site, loss
            if self._pending is not None:
                what, site, name, output, operation = self._pending
                self._tell(what, here, site, name, output, operation)

    def before_backward(self, losses: list[Any], here: Here) -> None:
        """A value goes backward: one that was computed by hand is first seen here."""
        for value in losses:
            if not self._found and self._bad(value) and (self._born is not None or not self._scaled()):
                site, operation = self._born or (here.site, "")
                self._tell("loss", here, site, self.watch.recorder.owner(here.site, "backward"), value, operation)

    def on_backward(self, losses: list[Any], got: list[Any], here: Here, event: int) -> None:
        """Gradients came, of a loss that is finite."""
        if self._found or self.watch.optimizers.scaled is not None or self._scaled():
            return
        for tensor in got:
            if tensor.grad is not None and self._bad(tensor.grad):
                self._tell("gradient", here, here.site, self.watch.recorder.owner(here.site, "backward"), tensor.grad)
                return

    def on_step(self, optimizer: Any, here: Here, event: int) -> None:
        """An update was made."""
        self._steps += 1
        if optimizer is not None and not self._found:
            for group in optimizer.param_groups:
                self._look("parameter", group["params"], here, self.watch.optimizers.name(optimizer, here))

    # --- how ---

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

    def _again(self, module: Any, arguments: Any, keywords: Any, kind: str) -> tuple[int | None, str]:
        """The place in the user's code of the operation that makes the first such value, and what it is called."""
        torch, recorder = self.watch.torch, self.watch.recorder
        if sum(each.numel() for each in module.parameters()) > LARGEST:
            return None, ""
        found: list[tuple[int | None, str]] = []
        bad = (
            (lambda each: bool(each.isnan().any())) if kind == "nan" else (lambda each: not bool(each.isfinite().all()))
        )

        class Looking(torch.overrides.TorchFunctionMode):  # type: ignore[misc, name-defined]
            def __torch_function__(self, function: Any, _: Any, args: Any = (), kwargs: Any = None) -> Any:
                result = function(*args, **(kwargs or {}))
                if (
                    not found
                    and isinstance(result, torch.Tensor)
                    and result.is_floating_point()
                    and bad(result.detach())  # type: ignore[no-untyped-call]
                ):
                    frame = recorder.sites.frame(1)
                    name = getattr(function, "__name__", "")
                    found.append((None if frame is None else recorder.sites.of_frame(frame), name))
                return result

        with self.watch.unwatched(), torch.no_grad(), torch.random.fork_rng(devices=[]):
            copied = copy.deepcopy(module)
            with Looking():
                copied(*arguments, **keywords)
        return found[0] if found else (None, "")
