"""What a rule is about."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch_doctor.trace.record import Trace


class Subject(Struct, frozen=True):
    """What a script has to have for a rule to matter to it: `within` says whether a trace shows it."""

    name: str
    within: Callable[[Trace], bool]
