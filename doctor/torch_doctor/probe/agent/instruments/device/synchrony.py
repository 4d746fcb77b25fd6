"""Looks at the gradients that modules are stepped with in several processes, wrapped for them or not: each tells of its own."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from ...identities import IdentitySet
from ..instrument import Instrument as Base

if TYPE_CHECKING:
    from ...scopes import Here
    from ...watching.watch import Watch

STEPS = 3  # of each module that are looked at
PARAMETERS = 32  # of a module
NUMBERS = 32  # of a gradient


class Instrument(Base):
    """Tells nothing where one process runs alone."""

    def __init__(self, watch: Watch) -> None:
        super().__init__(watch)
        self._several = watch.recorder.plan.get("processes", 1) > 1
        self._seen: Counter[int] = Counter()
        self._loss: float | None = None
        self._called: IdentitySet = IdentitySet()

    def before_forward(self, module: Any, arguments: tuple[Any, ...], keywords: dict[str, Any], here: Here) -> None:
        """A module is about to be called as a whole."""
        if self._several and self.watch.torch.is_grad_enabled():
            self._called.add(module)

    def on_backward(self, losses: list[Any], got: list[Any], here: Here, event: int) -> None:
        """Some tensors got gradients."""
        if self._several:
            loss = losses[0].detach()
            self._loss = float(loss) if loss.numel() == 1 else None

    def before_step(self, optimizer: Any, here: Here) -> None:
        """An optimizer is about to step."""
        if not self._several or here.frame is None:
            return
        stepped = {id(each) for group in optimizer.param_groups for each in group["params"]}
        wrapped = [shell.module for shell in self.watch.moves.shells]
        for module in wrapped:
            self._tell(module, stepped, here)
        if self._joined():
            alone = stepped.difference(id(each) for module in wrapped for each in module.parameters())
            for module in list(self._called):
                self._tell(module, alone, here)

    def _joined(self) -> bool:
        """Whether this process has joined a group of several."""
        distributed = self.watch.torch.distributed
        return bool(distributed.is_available() and distributed.is_initialized() and distributed.get_world_size() > 1)

    def _tell(self, module: Any, stepped: set[int], here: Here) -> None:
        """Writes the gradients of the parameters that are about to be stepped."""
        recorder = self.watch.recorder
        number = recorder.references.number(module)
        named = [(name, each) for name, each in module.named_parameters() if id(each) in stepped]
        if self._seen[number] < STEPS and any(each.grad is not None for _, each in named):
            self._seen[number] += 1
            with self.watch.unwatched(), self.watch.torch.no_grad():
                found = [(name, self._some(each.grad)) for name, each in _spread(named, PARAMETERS)]
            gradients = [each for each in found if each[1]]
            recorder.event("GradientsSeen", here, module=number, gradients=gradients, loss=self._loss)

    def _some(self, gradient: Any) -> list[float]:
        """Numbers of a gradient, spread over all of it; none of one that is not there, or holds no plain numbers."""
        if gradient is None or gradient.is_sparse or gradient.is_complex():
            return []
        numbers = gradient.detach().reshape(-1)
        step = max(1, -(-numbers.numel() // NUMBERS))
        return [float(each) for each in numbers[::step].double().tolist()]


def _spread(items: list[Any], most: int) -> list[Any]:
    """At most so many of the items, from all over the list."""
    return items[:: max(1, -(-len(items) // most))]
