"""Layers whose weights are still those that their constructor drew, and that no later line gives to an optimizer."""

from __future__ import annotations

import ast
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ...identities import IdentityMap
from ...nodes import last_name

if TYPE_CHECKING:
    from ...watching.watch import Watch

SAMPLES = 16  # numbers of a parameter that are compared


class Fresh:
    """Keeps some numbers of what layers of torch's own draw, as their constructors do and who builds them anew."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._drawn: IdentityMap[list[list[float]]] = IdentityMap()
        layers = [each for each in vars(watch.torch.nn).values() if isinstance(each, type)]
        for kind in {base for each in layers for base in each.__mro__ if "reset_parameters" in vars(base)}:
            watch.patches.replace(kind, "reset_parameters", self._drawing)

    def _drawing(self, original: Any) -> Any:
        def reset_parameters(layer: Any, *arguments: Any, **keywords: Any) -> Any:
            result = original(layer, *arguments, **keywords)
            if not self._watch.recorder.quiet:
                self._watch.recorder.safely(self._keep, layer)
            return result

        return reset_parameters

    def _keep(self, layer: Any) -> None:
        self._drawn[layer] = self._numbers(layer)

    def is_forgotten(self, layer: Any) -> bool:
        """Whether a layer, which no optimizer has, is still as it was drawn, and no later line gives it to one."""
        drawn = self._drawn.get(layer)
        return drawn is not None and drawn == self._numbers(layer) and not self._may_be_taken

    @cached_property
    def _may_be_taken(self) -> bool:
        optim, trees = self._watch.torch.optim, self._watch.recorder.index.trees().values()
        kinds = {
            name for name, each in vars(optim).items() if isinstance(each, type) and issubclass(each, optim.Optimizer)
        }
        called = [last_name(node.func) for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Call)]
        return "add_param_group" in called or sum(name in kinds for name in called) > len(self._watch.optimizers.told)

    def _numbers(self, layer: Any) -> list[list[float]]:
        lazy = self._watch.torch.nn.parameter.is_lazy
        own = [each.detach().flatten() for each in layer._parameters.values() if each is not None and not lazy(each)]
        return [each[:: max(1, each.numel() // SAMPLES)].tolist() for each in own]
