"""What a rule is about."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch_doctor.trace.record import Trace


class Subject(Struct, frozen=True):
    """What a script must have for a rule to apply."""

    name: str
    """The name of the subject."""
    within: Callable[[Trace], bool]
    """Returns whether a trace shows it."""
