"""Render which axes variables have, beside the source, as text or as JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from torch_doctor.report import beside
from torch_doctor.trace import Reshaped, Shaped

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from torch_doctor.report.reported import Look, Source
    from torch_doctor.trace import Event, Site, Trace

READS: Final[frozenset[type[Event]]] = frozenset((Shaped, Reshaped))
"""The events that tell shapes: a reshape tells how many dimensions there are."""
MOST: Final = 3
"""Different shapes of one variable that are written out."""


class Shapes:
    """The shapes of what is assigned in one place, those that the source shows (`shown`) and those of the run (`seen`)."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.shown: list[Shaped] = []
        self.seen: list[Shaped] = []

    def __str__(self) -> str:
        """Return them as text, without the name."""
        run = f"run: {_several(self.seen)}" if self.seen else ""
        return "  ".join(filter(None, (_several(_plainest(self.shown)), run)))


def by_site(traces: Iterable[Trace]) -> dict[Site, Shapes]:
    """The shapes of each variable, attribute and parameter, by the place where it gets its value."""
    found: dict[Site, Shapes] = {}
    for trace in traces:
        for event in trace.of(Shaped):
            shapes = found.setdefault(event.site, Shapes(event.name))
            (shapes.seen if trace.observed else shapes.shown).append(event)
    return found


def render(traces: Sequence[Trace], sources: Mapping[str, Source], look: Look) -> str:
    """Return each line of the source that gives a variable a shape, with the shape beside it."""
    notes = {site: [f"{shapes.name}: {shapes}"] for site, shapes in by_site(traces).items()}
    return beside.render(notes, sources, look)


def render_json(traces: Sequence[Trace]) -> str:
    """Return a JSON list with an object for each shape of each variable."""
    records: dict[str, dict[str, Any]] = {}
    for trace in traces:
        for event in trace.of(Shaped):
            path, row, column, *_, cell = event.site
            record: dict[str, Any] = {"path": path, "cell": cell, "row": row, "column": column, "name": event.name}
            record |= {"axes": list(event.axes), "dtype": event.dtype, "device": event.device}
            record["observed"] = trace.observed
            records[str(record)] = record
    return json.dumps(list(records.values()), indent=2, ensure_ascii=False) + "\n"


def _plainest(events: Sequence[Shaped]) -> Iterator[Shaped]:
    """Those that are not the same as another one with names for more of its sizes."""
    for event in events:
        pairs = [zip(event.axes, each.axes, strict=True) for each in events if len(each.axes) == len(event.axes)]
        differing = [[(own, other) for own, other in each if own != other] for each in pairs]
        if not any(
            each and all(_is_nameless(own) and not _is_nameless(other) for own, other in each) for each in differing
        ):
            yield event


def _is_nameless(size: str) -> bool:
    """Whether there is something in a size that the script gives no name."""
    return any(word == "?" or (word[:1] == "s" and word[1:].isdigit()) for word in size.split())


def _several(events: Iterable[Shaped]) -> str:
    texts = list(dict.fromkeys(map(_text, events)))
    more = len(texts) - MOST
    return " or ".join(texts[:MOST]) + (f" or {more} more" if more > 0 else "")


def _text(event: Shaped) -> str:
    """A shape with its dtype, and with its device where that is not the CPU."""
    dtype = "float" if event.dtype == "floating" else event.dtype
    device = "" if event.device == "cpu" else event.device
    return " ".join(filter(None, (f"[{', '.join(event.axes)}]", dtype, device)))
