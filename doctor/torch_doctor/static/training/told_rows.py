"""Which data sets were told of, and on which paths."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from torch_doctor.static.knowledge import Knowledge
from torch_doctor.static.state import per_run
from torch_doctor.trace import DatasetBuilt

if TYPE_CHECKING:
    from torch_doctor.static.run import Run


class Datasets(Knowledge):
    """The data sets that were described."""

    events: dict[int, DatasetBuilt] = per_run(dict)  # by their numbers
    stored: dict[str, int] = per_run(dict)  # the numbers of those of a hub, by their rows


def tell_here(run: Run, dataset: int) -> None:
    """Tell of a data set, and of what it reads from, again where only other paths have heard of it."""
    event = run.of(Datasets).events.get(dataset)
    if event is None:
        return
    for part in event.parts:
        tell_here(run, part)
    if not any(each.dataset == dataset and each.guards <= run.guards for each in run.trace.of(DatasetBuilt)):
        run.trace.add(replace(event, scope=run.scope, guards=run.guards, index=run.trace.next))
