"""Updates that a script makes itself, as in `p -= rate * p.grad`: seen by what changed since the backward pass."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..loop import Loop
    from .plays import Play, Seen

ALIKE = 1e-3  # how far the rates of single numbers may be apart, of their mean
TINY = 1e-12


class ByHand:
    """The tensors that the last backward pass gave gradients, as they were then.

    `loops` are those around it, and `optimizer` stands for the updates once there was one: it has the tensors, and the learning
    rate where every tensor moved by the same multiple of its gradient.
    """

    def __init__(self, torch: Any) -> None:
        self._torch = torch
        self._filled: dict[int, tuple[Any, Any, Any]] = {}
        self.loops: list[Loop] = []
        self.optimizer: Any = None

    def filled(self, losses: list[Any], loops: list[Loop]) -> None:
        """A backward pass of these losses is over."""
        self.loops = loops
        for each in self._leaves(losses):
            if each.grad is not None and not each.grad.is_sparse:
                self._filled[id(each)] = each, each.detach().clone(), each.grad.detach().clone()

    def updated(self) -> bool:
        """Whether something moved since; then `optimizer` stands for it."""
        moved = [kept for kept in self._filled.values() if not self._torch.equal(kept[0].detach(), kept[1])]
        if moved and self.optimizer is None:
            self.optimizer = _standing(self._torch)([each for each, _, _ in moved], lr=self._rate(moved))
        return bool(moved)

    def initial(self) -> dict[int, Any]:
        """The tensors with their values before the update."""
        return {key: (each, values) for key, (each, values, _) in self._filled.items()}

    def begin(self) -> None:
        """Another pass begins."""
        self._filled.clear()

    def finish(self, play: Play, seen: Seen) -> dict[int, Any]:
        """A pass is over: its update is undone, or made larger or smaller, as the play wants it; the values before it."""
        before = {key: values for key, (_, values, _) in self._filled.items()}
        if self.optimizer is None or not self.updated():
            return before
        seen.steps += 1
        seen.optimizers.append(self.optimizer)
        with self._torch.no_grad():
            for each, values, _ in self._filled.values():
                if play.frozen:
                    each.detach().copy_(values)
                elif play.rate != 1.0:
                    each.detach().copy_(values + (each.detach() - values) * play.rate)
        return before

    def gradients(self) -> list[tuple[Any, Any]]:
        """The tensors that the last backward pass gave gradients, with these."""
        return [(each, gradient) for each, _, gradient in self._filled.values()]

    def gradient(self, tensor: Any) -> Any:
        """The gradient that the last backward pass left, whatever the script made of it since."""
        kept = self._filled.get(id(tensor))
        return tensor.grad if kept is None else kept[2]

    def _leaves(self, losses: list[Any]) -> list[Any]:
        """The tensors at the ends of graphs."""
        found, seen = [], set[Any]()
        following = [each.grad_fn for each in losses if each.grad_fn is not None]
        while following:
            function = following.pop()
            if function in seen:
                continue
            seen.add(function)
            if hasattr(function, "variable"):
                found.append(function.variable)
            following += [each for each, _ in function.next_functions if each is not None]
        return found

    def _rate(self, moved: list[tuple[Any, Any, Any]]) -> float:
        """By which multiple of their gradients tensors moved; 0 where by none that is the same for all."""
        rates = []
        for each, values, gradient in moved:
            there = gradient.abs() > TINY
            rates.append(((values - each.detach())[there] / gradient[there]).double().reshape(-1))
        every = self._torch.cat(rates)
        if not every.numel():
            return 0.0
        middle = float(every.median())
        alike = bool(((every - middle).abs() <= ALIKE * abs(middle)).double().mean() > 0.9)
        return middle if alike and middle > 0 else 0.0


def _standing(torch: Any) -> Any:
    """The class of what stands for updates by hand."""

    class UpdateByHand(torch.optim.Optimizer):  # type: ignore[misc]
        """The updates that the script makes itself; it is never stepped."""

        def __init__(self, parameters: list[Any], lr: float) -> None:
            super().__init__(parameters, {"lr": lr})

    return UpdateByHand
