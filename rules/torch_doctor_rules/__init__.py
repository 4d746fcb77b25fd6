"""The rules of torch-doctor, one module each, found by walking this package."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.rule import rules_in

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.rule import Rule


def rules() -> Iterator[type[Rule]]:
    """Every rule class of this package."""
    return rules_in(__name__)
