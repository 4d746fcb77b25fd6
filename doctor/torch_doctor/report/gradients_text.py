"""Render where gradients go, beside the source, as text or as JSON: which passes fill them, who applies and who clears them."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from msgspec import Struct

from torch_doctor.report import beside, terms_text
from torch_doctor.trace import (
    Backward,
    Forward,
    ModuleBuilt,
    OptimizerBuilt,
    Registered,
    Stepped,
    TermGradient,
    Trace,
    ZeroGrad,
    claims,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from torch_doctor.report.reported import Look, Source
    from torch_doctor.trace import Event, Site

READS: Final[frozenset[type[Event]]] = frozenset(
    (Backward, Forward, ModuleBuilt, OptimizerBuilt, Registered, Stepped, TermGradient, ZeroGrad)
)
"""The events that are written out, and those that name and contain modules."""
MOST: Final = 3
"""Different notes of one place, and numbers of one note, that are written out."""
Update: TypeAlias = "Backward | Stepped | ZeroGrad"


class Cleared(Struct):
    """What one statement clears, whichever model it stands for, and behind which tests."""

    index: int
    modules: set[int]
    guards: frozenset[tuple[int, bool]]
    events: list[Stepped | ZeroGrad]
    known: bool


class Account:
    """What happens to gradients in one trace: the backward passes whose gradients are there, event by event."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._names = trace.names()
        self._children: dict[int, set[int]] = defaultdict(set)
        for event in trace.of(Registered):
            self._children[event.owner].add(event.child)
        self._owners = {leaf: event for event in trace.of(Stepped) for leaf in event.leaves}
        self._passes: list[Backward] = []
        self._clears: list[Cleared] = []
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
                    self._clear(event)

    def _clear(self, event: Stepped | ZeroGrad) -> None:
        """Note what is cleared; an expression that may stand for several models is cleared once for each of them."""
        clear = Cleared(
            event.index, self._within(event.modules), event.guards, [event], bool(event.modules) or event.whole
        )
        last = self._clears[-1] if self._clears else None
        if (
            last is not None
            and (last.events[0].site, last.events[0].scope) == (event.site, event.scope)
            and not any(self._trace.together(other, event) for other in last.events)
        ):
            self._clears.pop()
            clear.modules |= last.modules
            clear.guards &= last.guards
            clear.events += last.events
        self._clears.append(clear)

    def _is_there(self, earlier: Backward, event: Stepped | ZeroGrad) -> bool:
        """Whether an event finds gradients of a pass: nothing that surely comes before it, on its path, has cleared them."""
        if not self._trace.together(earlier, event):
            return False
        left = self._within(earlier.modules)
        for clear in self._clears:
            if clear.index < earlier.index or not self._trace.together(clear.events[0], event):
                continue
            if not clear.known:  # it may have cleared everything
                return False
            if clear.guards <= event.guards:
                left = left - clear.modules
        return not left.isdisjoint(self._within(event.modules))

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
        sure = event.modules - event.perhaps
        if not sure:
            return f"{name} may fill the gradients of {self._things(event.modules, whole=event.whole)}"
        perhaps = f", maybe {self._things(event.perhaps)}" if event.perhaps and event.whole else ""
        return f"{name} fills the gradients of {self._things(sure, whole=event.whole)}{perhaps}"

    def _things(self, modules: frozenset[int], *, whole: bool = True) -> str:
        """What modules are called, and which optimizer has the tensors outside of all modules."""
        owners = (self._owners[leaf].name for leaf in sorted(modules & self._owners.keys()))
        leaves = [f"a tensor of `{name}`" if name else "a tensor" for name in dict.fromkeys(owners)]
        others = modules - self._owners.keys()
        if not others and leaves:
            return ", ".join(leaves + ([] if whole else ["maybe others"]))
        return ", ".join([*leaves, self._names.things(others, whole=whole)])

    def _stepped(self, event: Stepped, passes: Sequence[Backward]) -> str:
        name = f"`{event.name}`" if event.name and not event.manual else "the script"
        to = self._things(event.modules, whole=event.whole)
        if not passes:
            return (
                f"{name} has no gradients to apply" if self._trace.observed else f"{name} applies what is there to {to}"
            )
        losses = Counter((each.name, each.site.row) for each in passes)
        told = [
            f"{f'{number} passes of ' if number > 1 and self._trace.observed else ''}`{loss or 'the loss'}` (line {row})"
            for (loss, row), number in losses.items()
        ]
        return f"{name} applies {', '.join(told)} to {to}"

    def _cleared(self, event: ZeroGrad, unread: Sequence[Backward]) -> str:
        text = f"clears {self._things(event.modules, whole=event.whole)}"
        if unread:
            rows = ", ".join(str(row) for row in sorted({each.site.row for each in unread}))
            text += f"; {len(unread)} {'pass' if len(unread) == 1 else 'passes'} (line {rows}) that no step applied"
        return text


def render(traces: Sequence[Trace], sources: Mapping[str, Source], look: Look) -> str:
    """Return each line of the source that fills, applies or clears gradients, with what it does beside it."""
    found: dict[Site, dict[str, None]] = defaultdict(dict)
    norms: dict[Site, list[float]] = defaultdict(list)
    terms: dict[Site, list[str]] = {}
    for trace in traces:
        for event, text, _ in Account(trace).notes():
            if not trace.observed or text not in found[event.site]:
                found[event.site][f"run: {text}" if trace.observed else text] = None
            norms[event.site] += _norms(trace, event)
        for site, measured in terms_text.by_pass(trace).items():
            terms.setdefault(site, list(terms_text.rows(measured)))
    notes = {
        site: [*_first(list(found[site])), *_of_norms(norms[site]), *terms.get(site, ())]
        for site in dict.fromkeys((*found, *terms))
    }
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
        records += terms_text.records(trace)
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
        told = ", ".join(f"{each:.3g}" for each in norms[:MOST])
        yield f"run: gradient norm {told}{', …' * (len(norms) > MOST)} after the pass"
