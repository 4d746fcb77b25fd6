"""Which classes are modules."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from torch_doctor.static.tables import frameworks, layers, libraries, losses, models
from torch_doctor.static.tables.canonical import canonical
from torch_doctor.static.training.module import library_models
from torch_doctor.static.values import ClassValue, Fact, FunctionValue, Module

if TYPE_CHECKING:
    from torch_doctor.static.run import Run


def is_module_class(run: Run, cls: ClassValue) -> bool:
    """Whether a project class is a module: by its library base, or by its `forward` when a base is out of sight."""
    if is_surely_module(run, cls):
        return True
    if cls.opaque_base() or any(_may_be_module(run, name) for name in cls.libraries()):
        found = cls.find("forward")
        return found is not None and isinstance(found[0], FunctionValue) and found[0].style != "static"
    return False


def is_surely_module(run: Run, cls: ClassValue) -> bool:
    """Whether a class of a library that is a module is among a project class's bases."""
    return any(is_library_module(run, canonical(name)) for name in cls.libraries())


def note_constructor(run: Run, module: Module, constructor: FunctionValue) -> None:
    """A constructor has to see to the base's: that of a class which is no module itself only where no other does."""
    owner = constructor.owner
    if module.fact(Fact.CONSTRUCTOR) is None or (owner is not None and is_surely_module(run, owner)):
        run.heap.set(module.facts, Fact.CONSTRUCTOR, constructor)


def is_known_module(run: Run, library: str) -> bool:
    """Whether a class of a library of which something is known is a module; of any other only the name says so."""
    known = libraries.heard_of(library) or library_models.is_module(run, library) is not None
    return known and is_library_module(run, library)


def is_library_module(run: Run, library: str) -> bool:
    """Whether a class of a library is a module for certain."""
    if library in layers.MODULE_BASES or library in frameworks.MODULES or library in layers.LAYERS:
        return True
    if library in layers.CONTAINERS or library in layers.PARAMETER_CONTAINERS or library in losses.LOSSES:
        return True
    told = library_models.is_module(run, library)
    if told is not None:
        return told
    declared = library in frameworks.DECLARED  # a data module is declared and no module
    return models.library_model(library) is not None or (
        not declared and library.endswith(("PreTrainedModel", "Module"))
    )


def _may_be_module(run: Run, library: str) -> bool:
    """Whether a class of a library that no table knows may be a module: torch's and Python's own are all known."""
    first = library.partition(".")[0]
    if canonical(library) in frameworks.OWNERS:
        return False  # it runs a module
    if first in ("torch", "builtins") or first in sys.stdlib_module_names:
        return False
    return library_models.is_module(run, canonical(library)) is not False
