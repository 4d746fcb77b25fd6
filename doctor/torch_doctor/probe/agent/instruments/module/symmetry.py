"""Layers that start with constant weights: whether their units come apart."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

from ...identities import IdentitySet
from ...watching.naming import class_name, is_project
from ..copies import elements
from ..instrument import Instrument as Base

if TYPE_CHECKING:
    from ...scopes import Here
    from ...watching.watch import Watch

SIZES = range(2, 4_000_000)  # elements of a weight that is looked at
MATRIX = 2  # dimensions of a weight, where a layer is written by hand: its units may lie along the first or the last
ROUNDING = 16  # units in the last place of the largest weight that an update may round by
SHARE = 1e-4  # of the largest update: gradients are rounded, too


class Instrument(Base):
    """Notes the constant weights of each module before its first call, and looks at them again at the end."""

    def __init__(self, watch: Watch) -> None:
        super().__init__(watch)
        self._roots: IdentitySet = IdentitySet()
        self._constant: list[tuple[weakref.ref[Any], str, float]] = []
        self._steps: dict[int, int] = {}

    def before_forward(self, module: Any, arguments: tuple[Any, ...], keywords: dict[str, Any], here: Here) -> None:
        """A module that is called for the first time: its constant layers are noted."""
        if module in self._roots:
            return
        self._roots.add(module)
        nn = self.watch.torch.nn
        with self.watch.unwatched():
            for part in module.modules():
                if isinstance(part, (nn.Linear, nn.modules.conv._ConvNd)):
                    weights = {"weight": part._parameters.get("weight")}
                else:
                    weights = part._parameters if is_project(type(part), self.watch.recorder) else {}
                for name, weight in weights.items():
                    if weight is None or not weight.requires_grad or elements(self.watch, [weight]) not in SIZES:
                        continue
                    first = weight.detach().flatten()[0]
                    if weight.dim() >= MATRIX and len(weight) > 1 and bool((weight.detach() == first).all()):
                        self._constant.append((weakref.ref(part), name, float(first)))

    def before_step(self, optimizer: Any, here: Here) -> None:
        """Counts the updates of each parameter that has a gradient."""
        if self._constant:
            for group in optimizer.param_groups:
                for parameter in group["params"]:
                    if parameter.grad is not None:
                        self._steps[id(parameter)] = self._steps.get(id(parameter), 0) + 1

    def at_end(self, error: BaseException | None) -> None:
        """Writes what became of them."""
        recorder, modules = self.watch.recorder, self.watch.modules
        here = recorder.here()
        for reference, name, value in self._constant:
            layer = reference()
            site = modules.birthplace(layer) if layer is not None else None
            parameter = layer._parameters.get(name) if layer is not None else None
            if layer is None or site is None or parameter is None:
                continue
            weight = parameter.detach()
            of_torch = not is_project(type(layer), recorder)
            recorder.event(
                "ConstantWeights",
                here,
                site=site,
                module=recorder.references.number(layer),
                class_name=class_name(type(layer), recorder) if of_torch else name,
                value=value,
                identical=self._identical(weight, value)
                or (not of_torch and self._identical(weight.transpose(0, -1), value)),
                built_at=site,
                units=len(weight),
                steps=self._steps.get(id(parameter), 0),
            )

    def _identical(self, weight: Any, value: float) -> bool:
        """Whether all units have the same weights, but for rounding.

        Processors add up the numbers of several units at once, not always in the same order. What units that come apart
        differ by is of the size of their updates.
        """
        spread, moved = (weight - weight[:1]).abs().max(), (weight - value).abs().max()
        rounding = self.watch.torch.finfo(weight.dtype).eps * weight.abs().max()
        return bool(spread <= ROUNDING * rounding + SHARE * moved)
