"""Batch norms that a module consists of, and that normalise by the samples of one call."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.training.evaluation import modes
from torch_doctor.static.training.module import library_models, module_parts
from torch_doctor.static.values import Fact

if TYPE_CHECKING:
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Module

_LAYERS = frozenset(f"torch.nn.{lazy}BatchNorm{size}d" for size in (1, 2, 3) for lazy in ("", "Lazy"))


def of_own_rows(run: Run, module: Module) -> int:
    """Return how many trainable layers normalise by the samples of one call; those of a library's model count as one."""
    inside = module_parts.parts_of(run, module).parts
    parts = [part for part in inside if part.layer in _LAYERS or library_models.normalises(part)]
    own = [part for part in parts if part.fact(Fact.FROZEN) is False and not part.fact(Fact.SYNCHRONISED)]
    return sum(modes.own_mode(run, part).training is True for part in own)
