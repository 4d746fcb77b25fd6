"""Opacus: training with differential privacy."""

from __future__ import annotations

from torch_doctor.static.libraries.library import Library

LIBRARY = Library(
    optimizer_wrappers={"opacus.optimizers.DPOptimizer": 0},
    wrappers={"opacus.validators.ModuleValidator.fix": 0},
)
