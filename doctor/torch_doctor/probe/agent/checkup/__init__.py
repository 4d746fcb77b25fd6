"""The checkup: catches the first training step of the script, and climbs the debug ladder by having the script repeat it.

The script's own loop is fed: when the pass with the first update is over and the loop asks for its next item, it is given
batches of our choice, and its own code trains on them. Then everything is as it was, and the script goes on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..stand_ins.compiled import Compiler
from .catching import Catcher

if TYPE_CHECKING:
    from ..watching.watch import Watch

__all__ = ["install"]


def install(watch: Watch, stand_ins: Any) -> None:
    """Waits for the first update; `stand_ins` know what they make meaningless."""
    catcher = Catcher(watch, set() if stand_ins is None else stand_ins.teller.voided)
    catcher.compiler = None if stand_ins is None else stand_ins.of(Compiler)
    catcher.install()
