"""How a copy learns from standardized data, and from data as they are: what the probe run asked, as part of the rung inspect."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from torch_doctor.checkup.outcome import Fact, Plot, Series
from torch_doctor.trace import ScaleCompared

if TYPE_CHECKING:
    from torch_doctor.checkup.outcome import Rung
    from torch_doctor.trace import Trace

INSPECT = "inspect"
POINTS = 100
"""The most points of a curve that the probe tells: those of every second step, where there are more steps than that."""
WHAT = {"inputs": "the inputs", "targets": "the targets", "both": "inputs and targets"}


def with_scale(rung: Rung, trace: Trace | None) -> Rung:
    """Return the rung with the losses of both trainings, where the scale of the data gave a reason to compare them.

    There are none where substitutes replace the data.
    """
    if rung.name != INSPECT or trace is None or (trace.run is not None and trace.run.voids("values")):
        return rung
    seen = next((event for event in trace.of(ScaleCompared) if event.raw and event.standardized), None)
    if seen is None:
        return rung
    what = WHAT[seen.what]
    facts = [
        Fact(f"after {seen.longer} steps on data as they are", seen.best, "of a constant's loss", "below 1", "scale"),
        Fact(
            f"after {seen.steps} steps with {what} standardized", seen.end, "of a constant's loss", "below 1", "scale"
        ),
    ]
    reason = f"{rung.reason}; with {what} standardized, a copy learns many times faster" if seen.seeds else rung.reason
    return replace(rung, reason=reason, evidence=[*rung.evidence, *facts], plots=[*rung.plots, _plot(seen, what)])


def _plot(seen: ScaleCompared, what: str) -> Plot:
    """Both curves over the steps, relative to the loss of a constant prediction."""
    every = -(-2 * seen.steps // POINTS), -(-seen.steps // POINTS)
    sets = (("data as they are", seen.raw, every[0]), (f"{what} standardized", seen.standardized, every[1]))
    told = (
        f"the loss of copies that train from the same weights on the same batches; a constant prediction has 1. Standardized, it"
        f" is {seen.end:.2g} after {seen.steps} steps, and with data as they are at best {seen.best:.2g} in {seen.longer}"
    )
    return Plot(
        "Scale of the data",
        "lines",
        told,
        x_label="step",
        y_label="relative loss",
        y_log=all(each > 0 for _, values, _ in sets for each in values),
        series=[
            Series(label, [1 + place * by for place in range(len(values))], list(values)) for label, values, by in sets
        ],
    )
