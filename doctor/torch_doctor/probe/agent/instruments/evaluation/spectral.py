"""Spectral norms that weights are divided by: with hooks, random numbers until forwards in training mode estimate them."""

from __future__ import annotations

import importlib
from typing import Any

LEAST = 0.3  # of a norm: random numbers are a few hundredths of it, and one forward comes to more than half
ENOUGH = 15
"""Iterations, as many as `torch.nn.utils.parametrizations.spectral_norm` of torch 2.13 makes when it is built."""


def estimated(torch: Any, module: Any) -> bool:
    """Estimates the spectral norms in a copy of a module; whether one of them was not estimated before."""
    kind = importlib.import_module("torch.nn.utils.spectral_norm").SpectralNorm
    missing = False
    with torch.no_grad():
        for part in module.modules():
            for hook in part._forward_pre_hooks.values():
                if isinstance(hook, kind):
                    before = _norm(part, hook)
                    for _ in range(ENOUGH):
                        hook.compute_weight(part, do_power_iteration=True)
                    missing |= before < LEAST * _norm(part, hook)
    return missing


def _norm(module: Any, hook: Any) -> float:
    """The norm as it is estimated now."""
    weight = hook.reshape_weight_to_matrix(getattr(module, f"{hook.name}_orig"))
    left, right = getattr(module, f"{hook.name}_u"), getattr(module, f"{hook.name}_v")
    return abs(float(left @ (weight @ right)))
