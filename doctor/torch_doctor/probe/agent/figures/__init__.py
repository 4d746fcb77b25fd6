"""Runs the script so that two versions of it can be compared: it keeps its first weights, and reports the values it reads.

Before and after a fix the script runs with the same weights, inputs and random numbers. Each value that it compares, rounds,
reports, saves or returns to a library is written to the channel. What the fix is meant to change is recorded in the first
run and put back in the second one, so that everything computed from it is the same again; whatever else differs is a
change that nobody announced.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .recording import Recording
from .replaying import Replaying
from .steadying import Steadying

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..watching.watch import Watch

__all__ = ["install"]


def install(watch: Watch, how: Mapping[str, Any]) -> None:
    """Hold the weights and the random numbers of the run, and record its values as the plan says."""
    Steadying(watch).install()
    watch.instruments.append(Replaying(watch, how))
    Recording(watch).install()
    watch.recorder.caps.shown = lambda _: None  # every pass is recorded
