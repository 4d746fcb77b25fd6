"""What a transformation is, and which there are."""

from __future__ import annotations

import importlib
import pkgutil
import re
from abc import ABC, abstractmethod
from enum import Enum
from functools import cache
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    import libcst as cst

    from tests.metamorphic.project import Project


class Kind(Enum):
    """What a transformation promises."""

    KEPT = "meaning kept"
    """The program does the same: every finding stays, and none is new."""
    HIDDEN = "something hidden"
    """A part of the program cannot be resolved any more: findings may vanish, and none is new."""


FIRST_IN_A_FILE = {"TDR305": "the first such call of a model in a file stands for the others"}


class Transformation(ABC):
    """A way to write the same program differently. The docstring of a subclass says what it does, and why that holds."""

    kind: ClassVar[Kind]
    unless: ClassVar[Mapping[str, str]] = {}
    """Rules for which the promise does not hold, each with the reason: the bug itself is of the form that changes."""
    runs: ClassVar[bool] = True
    """Whether a run of the rewritten program does what one of the program does."""

    @property
    def name(self) -> str:
        """The class's name in kebab case."""
        return re.sub(r"(?<!^)(?=[A-Z])", "-", type(self).__name__).lower()

    @abstractmethod
    def variants(self, project: Project) -> Iterator[Project]:
        """Every way to apply it to the project. None: it does not apply."""


class ModuleTransformation(Transformation):
    """A transformation of one file after another, which do not need to know of each other."""

    def variants(self, project: Project) -> Iterator[Project]:
        rewritten = project
        for path, module in project.modules.items():
            rewritten = rewritten.with_module(path, self.rewrite(module))
        if any(rewritten.modules[path] is not module for path, module in project.modules.items()):
            yield rewritten

    @abstractmethod
    def rewrite(self, module: cst.Module) -> cst.Module:
        """The module in its new form, or the same object where there is nothing to change."""


@cache
def transformations() -> tuple[Transformation, ...]:
    """All there are: every class in the modules of `transformations/` that says its kind."""
    package = importlib.import_module("tests.metamorphic.transformations")
    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"{package.__name__}.{module.name}")
    found = [
        transformation()
        for transformation in _concrete(Transformation.__subclasses__())
        if hasattr(transformation, "kind")
    ]
    return tuple(sorted(found, key=lambda transformation: (transformation.kind.name, transformation.name)))


def _concrete(classes: Iterable[type[Transformation]]) -> Iterator[type[Transformation]]:
    for each in classes:
        if not each.__abstractmethods__:
            yield each
        yield from _concrete(each.__subclasses__())
