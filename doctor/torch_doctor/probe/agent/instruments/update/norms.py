"""How large gradients are: all together, and of a model's first layers beside its last."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ... import claims
from ...identities import IdentityMap, IdentitySet
from ..instrument import Instrument as Base

if TYPE_CHECKING:
    from ...scopes import Here
    from ...watching.watch import Watch

MOST = 48  # backward passes that are looked at
LAYERS = 4  # from so many on, a model is deep
FIRST = 2  # layers that have to agree
LEAST = 1e-6  # a gradient of the last layer below it says that there is nothing left to learn


class Instrument(Base):
    """Measures the gradients of the first backward passes; none that a gradient scaler has multiplied."""

    def __init__(self, watch: Watch) -> None:
        super().__init__(watch)
        self._roots: IdentitySet = IdentitySet()
        self._ran: IdentityMap[int] = IdentityMap()
        self._passes = 0
        watch.patches.hook(watch.torch.nn.modules.module.register_module_forward_pre_hook, self._runs)

    def _runs(self, module: Any, _: Any) -> None:
        """A module, or a part of one, runs: layers count in the order in which they first did."""
        if not self.watch.recorder.quiet and self._passes < MOST and self.watch.torch.is_grad_enabled():
            self._ran.setdefault(module, len(self._ran))

    def before_forward(self, module: Any, arguments: tuple[Any, ...], keywords: dict[str, Any], here: Here) -> None:
        """A module is called as a whole."""
        self._roots.add(module)

    def on_backward(self, losses: list[Any], got: list[Any], here: Here, event: int) -> None:
        """Some tensors got gradients."""
        if self._passes >= MOST or self.watch.scaling.built or self.watch.optimizers.scaled is not None:
            return
        self._passes += 1
        with self.watch.unwatched(), self.watch.torch.no_grad():
            norms = {id(each): self._norm(each) for each in got if each.grad is not None and not each.grad.is_sparse}
        total = math.sqrt(sum(norm * norm for norm in norms.values()))
        if not norms or not math.isfinite(total):
            return
        self.watch.recorder.measured(claims.GRADIENT_NORM, total, about=[event])
        ratios = [found for root in list(self._roots) if (found := self._ratio(root, norms)) is not None]
        if ratios:
            self.watch.recorder.measured(claims.GRADIENT_NORM_RATIO, max(ratios), about=[event])

    def _norm(self, tensor: Any) -> float:
        gradient = tensor.grad.detach()
        return float(gradient.abs().norm() if gradient.is_complex() else gradient.double().norm())

    def _ratio(self, root: Any, norms: dict[int, float]) -> float | None:
        """The larger norm of the first two layers by that of the last; None for models that are not deep, or at rest."""
        layers = [each for each in root.modules() if each in self._ran and self._weight(each) is not None]
        layers.sort(key=lambda each: self._ran[each])
        found = [norms[id(weight)] for each in layers if id(weight := self._weight(each)) in norms]
        if len(found) < LAYERS:
            return None
        first, last = found[:FIRST], found[-1]
        return max(first) / last if min(first) > 0 and last > LEAST else 1.0

    def _weight(self, module: Any) -> Any:
        """The trainable matrix of weights of a layer; None for what has none."""
        weight = dict(module.named_parameters(recurse=False)).get("weight")
        return weight if weight is not None and weight.requires_grad and weight.dim() > 1 else None
