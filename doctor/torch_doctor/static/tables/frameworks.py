"""The frameworks that own the training loop, or a part of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static import libraries

if TYPE_CHECKING:
    from torch_doctor.static.tables.framework import Framework

FRAMEWORKS: tuple[Framework, ...] = libraries.every(lambda library: library.frameworks)

ENGINE_STEPS = libraries.table(lambda library: library.engine_steps)
"""Classes whose instances call, for every batch, the function at this position; it keeps the whole contract itself."""
ENGINE_TRAINERS = frozenset(libraries.every(lambda library: library.engine_trainers))
"""Factories that train the model (0) with the optimizer (1) and the loss (2)."""
ENGINE_EVALUATORS = frozenset(libraries.every(lambda library: library.engine_evaluators))
"""Factories that evaluate the model (0), in evaluation mode and without gradients."""

MODULE_BASES: dict[str, Framework] = {name: framework for framework in FRAMEWORKS for name in framework.module_bases}
ATTRIBUTES: dict[str, dict[str, bool]] = {
    name: framework.attributes for name, framework in MODULE_BASES.items() if framework.attributes
}
"""Attributes that modules of these bases have before their constructors set them."""
WRAPS: dict[str, int] = {name: place for framework in FRAMEWORKS for name, place in framework.wraps.items()}
OWNERS: dict[str, Framework] = {name: framework for framework in FRAMEWORKS for name in framework.owners}
FACTORIES: dict[str, str] = {name: owner for framework in FRAMEWORKS for name, owner in framework.factories.items()}

DECLARED: frozenset[str] = frozenset((*MODULE_BASES, *OWNERS, *FACTORIES, *WRAPS))
"""Everything of frameworks that is declared here: within a framework's own repository too, this is what it means."""

MODULES = MODULE_BASES.keys() - {name for framework in FRAMEWORKS for name in framework.data_modules}
"""Bases whose subclasses are modules of torch."""
