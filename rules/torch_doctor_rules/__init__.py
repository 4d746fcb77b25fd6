"""The rules of torch-doctor, one module each, found by walking this package."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from typing import TYPE_CHECKING

from torch_doctor.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator


def rules() -> Iterator[type[Rule]]:
    """Every rule class of this package."""
    for module in pkgutil.walk_packages(__path__, prefix=f"{__name__}."):
        if module.ispkg:
            continue
        for member in vars(importlib.import_module(module.name)).values():
            if (
                isinstance(member, type)
                and member.__module__ == module.name
                and issubclass(member, Rule)
                and not inspect.isabstract(member)
            ):
                yield member
