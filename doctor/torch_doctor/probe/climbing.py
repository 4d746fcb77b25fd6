"""The run of a checkup: the script once more, by an agent that has it repeat its first training step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch_doctor.probe.launch import launched
from torch_doctor.probe.plan import SHARE
from torch_doctor.probe.protocol import Reader
from torch_doctor.probe.remarks import ending, error, is_own
from torch_doctor.probe.scratch import scratch_folder

if TYPE_CHECKING:
    from pathlib import Path

    from torch_doctor.probe.climb import Climb
    from torch_doctor.probe.following import Attention
    from torch_doctor.probe.launch import Limits

TERMS = frozenset({"terms", "term_gradients"})
"""The instruments that measure the terms of losses in the script's first update."""
ENOUGH = 0.9
"""The part of the run's time after which no rung begins, so that the script can come to its end."""


def climbed(climb: Climb, python: Path, first: dict[str, Any], limits: Limits, attention: Attention) -> None:
    """Runs the script of a plan with a checkup in it; all that comes of it is in `climb`."""
    with scratch_folder() as scratch:
        plan = {
            **first,
            "scratch": str(scratch),
            "needs": sorted(TERMS),
            "server": "",
            "timeout": limits.seconds * SHARE,
            "checkup": {
                "rungs": list(climb.rungs),
                "share": ENOUGH,
                "every": climb.every,
                "samples": climb.samples,
                "examples": climb.examples,
                "time": climb.seconds,
            },
        }
        done = launched(python, plan, limits, attention, climb.take)
    name = attention.script
    reader = Reader(name, climb.shown)
    reader.read(done.lines)
    climb.output = done.output.text()
    climb.device = reader.run.device
    climb.ending = ending(name, reader.run, done, limits).replace("--probe-timeout", "--time")
    if climb.stopped and reader.run.end.how == "exception":
        climb.error, climb.own = error(reader.run), is_own(reader.run)
        climb.interface = reader.run.end.interface
