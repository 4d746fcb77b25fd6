"""Render where gradients go, beside the source, as text or as JSON: which passes fill them, who applies and who clears them."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from torch_doctor.report import beside
from torch_doctor.trace import (
    Backward,
    Forward,
    ModuleBuilt,
    OptimizerBuilt,
    Registered,
    Stepped,
    Trace,
    ZeroGrad,
    claims,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from torch_doctor.report.reported import Look, Source
    from torch_doctor.trace import Event, Site

READS: Final[frozenset[type[Event]]] = frozenset(
    (Backward, Forward, ModuleBuilt, OptimizerBuilt, Registered, Stepped, ZeroGrad)
)
"""The events that are written out, and those that name and contain modules."""
MOST: Final = 3
"""Different notes of one place, and numbers of one note, that are written out."""
Update: TypeAlias = "Backward | Stepped | ZeroGrad"


class Account:
    """What happens to gradients in one trace: the backward passes whose gradients are there, event by event."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._names = trace.names()
        self._children: dict[int, set[int]] = defaultdict(set)
        for event in trace.of(Registered):
            self._children[event.owner].add(event.child)
        self._passes: list[Backward] = []
        self._clears: list[Stepped | ZeroGrad] = []
        self._applied: set[int] = set()

    def notes(self) -> Iterator[tuple[Update, str, list[Backward]]]:
        """Yield each event with what it does, and the passes that it is about."""
        for event in self._trace.events:
            if isinstance(event, Backward) and event.through != "autograd.grad" and not event.inputs_only:
                self._passes.append(event)
                yield event, self._filled(event), [event]
            elif isinstance(event, (Stepped, ZeroGrad)):
                passes = [each for each in self._passes if self._is_there(each, event)]
                if isinstance(event, Stepped):
                    self._applied |= {each.index for each in passes}
                    yield event, self._stepped(event, passes), passes
                else:
                    unread = (
                        [each for each in passes if each.index not in self._applied] if self._trace.observed else []
                    )
                    yield event, self._cleared(event, unread), passes
                if isinstance(event, ZeroGrad) or event.clears:
                    self._clears.append(event)

    def _is_there(self, earlier: Backward, event: Stepped | ZeroGrad) -> bool:
        """Whether an event finds gradients of a pass: nothing that surely comes before it, on its path, has cleared them."""
        if not self._trace.together(earlier, event):
            return False
        left = self._within(earlier.modules)
        for clear in self._clears:
            if clear.index > earlier.index and self._trace.implies(event, clear):
                left = left - self._within(clear.modules)
        return bool(left & self._within(event.modules)) or (not event.modules and bool(left))

    def _within(self, modules: frozenset[int]) -> set[int]:
        found, waiting = set[int](), [*modules]
        while waiting:
            number = waiting.pop()
            if number not in found:
                found.add(number)
                waiting += self._children.get(number, ())
        return found

    def _filled(self, event: Backward) -> str:
        name = f"`{event.name}`" if event.name else "the loss"
        return f"{name} fills the gradients of {self._names.things(event.modules, whole=event.whole)}"

    def _stepped(self, event: Stepped, passes: Sequence[Backward]) -> str:
        name = f"`{event.name}`" if event.name and not event.manual else "the script"
        if not passes:
            return f"{name} has no gradients to apply" if self._trace.observed else f"{name} applies what is there"
        losses = Counter((each.name, each.site.row) for each in passes)
        told = [
            f"{f'{number} passes of ' if number > 1 and self._trace.observed else ''}`{loss or 'the loss'}` (line {row})"
            for (loss, row), number in losses.items()
        ]
        return f"{name} applies {', '.join(told)} to {self._names.things(event.modules, whole=event.whole)}"

    def _cleared(self, event: ZeroGrad, unread: Sequence[Backward]) -> str:
        text = f"clears {self._names.things(event.modules, whole=event.whole)}"
        if unread:
            rows = ", ".join(str(row) for row in sorted({each.site.row for each in unread}))
            text += f"; {len(unread)} {'pass' if len(unread) == 1 else 'passes'} (line {rows}) that no step applied"
        return text


def render(traces: Sequence[Trace], sources: Mapping[str, Source], look: Look) -> str:
    """Return each line of the source that fills, applies or clears gradients, with what it does beside it."""
    found: dict[Site, dict[str, None]] = defaultdict(dict)
    norms: dict[Site, list[float]] = defaultdict(list)
    for trace in traces:
        for event, text, _ in Account(trace).notes():
            if not trace.observed or text not in found[event.site]:
                found[event.site][f"run: {text}" if trace.observed else text] = None
            norms[event.site] += _norms(trace, event)
    notes = {site: [*_first(list(texts)), *_of_norms(norms[site])] for site, texts in found.items()}
    return beside.render(notes, sources, look)


def render_json(traces: Sequence[Trace]) -> str:
    """Return a JSON list with an object for each event that fills, applies or clears gradients, in order."""
    records = []
    for trace in traces:
        names = trace.names()
        for event, text, passes in Account(trace).notes():
            path, row, column, *_, cell = event.site
            record: dict[str, Any] = {"path": path, "cell": cell, "row": row, "column": column}
            record |= {"event": type(event).__name__, "modules": names.things(event.modules), "text": text}
            record |= {"passes": [each.site.row for each in passes], "observed": trace.observed}
            records.append(record)
    return json.dumps(records, indent=2, ensure_ascii=False) + "\n"


def _first(texts: list[str]) -> list[str]:
    """The first notes of a place."""
    more = len(texts) - MOST
    return texts[:MOST] + ([f"and {more} more"] if more > 0 else [])


def _norms(trace: Trace, event: Event) -> list[float]:
    """What a run measured of the gradients that a pass filled."""
    found = trace.run.measurements(claims.GRADIENT_NORM, event.index) if trace.run is not None else []
    return [each.value for each in found if isinstance(each.value, float)]


def _of_norms(norms: Sequence[float]) -> Iterator[str]:
    if norms:
        yield f"run: gradient norm {', '.join(f'{each:.3g}' for each in norms[:MOST])}{', …' * (len(norms) > MOST)}"
