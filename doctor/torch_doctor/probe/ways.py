"""The ways on which the source comes to a finding, and whether a run has gone them."""

from __future__ import annotations

from collections import defaultdict
from functools import cached_property
from typing import TYPE_CHECKING, Any

from torch_doctor.rule import same_place
from torch_doctor.trace import EVENTS, AnswersScored

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from torch_doctor.rule import Finding
    from torch_doctor.trace import Event, Site, Trace


class Ways:
    """What the source says of how its places are reached: `traces` are those of the static witness.

    `sources` gives the lines that the values of a line come from.
    """

    def __init__(self, traces: Sequence[Trace] = (), sources: Callable[[Site], Sequence[Site]] = lambda _: ()) -> None:
        self._traces = traces
        self._sources = sources

    @cached_property
    def _events(self) -> dict[Site, list[Event]]:
        found: dict[Site, list[Event]] = defaultdict(list)
        for trace in self._traces:
            for event in trace.events:
                found[event.site].append(event)
        return found

    def places(self, findings: Iterable[Finding]) -> frozenset[Site]:
        """The lines of which a run has to tell whether it came there."""
        each = [one for finding in findings for one in (finding, *finding.members)]
        return frozenset(site for finding in each for site in self._needed(finding))

    def left_out(self, finding: Finding, run: Trace) -> Site | None:
        """A place that the bug needs and the run did not come to; None where it went all ways to the finding.

        A line that is right when it is called from one place may be wrong when it is called from another: each call that
        leads to the finding in the source has to lead there in the run, which also has to come to each step of the trail, and
        to the lines that assign or return what the line reads. A conditional expression in one of these has two ways. One call may
        lead there directly and by way of another one, where what is called is chosen: those are two ways, too.
        """
        for site in (finding.site, *self._sources(finding.site)):
            if run.run is not None and run.run.took_one_arm(site):
                return site
        for site in self._needed(finding):
            if not came_to(run, site):
                return site
        gone = {event.scope.calls() for event in seen_at(run, finding.site)}
        ways = self._to(finding)
        for way in ways:
            longer = [each for each in ways if len(each) > len(way) and _goes(each, way)]
            if gone and not any(_goes(calls, way) and not any(_goes(calls, each) for each in longer) for calls in gone):
                return way[-1]
        return next((model.site for model in self._models(finding) if not self._ran(run, model)), None)

    def _models(self, finding: Finding) -> Iterator[Any]:
        """Those that run, of which the trail has the place where they are built: of several, a run may have come to others."""
        steps = {step.site for step in finding.trail}
        for trace in self._traces:
            models, built = _models(trace), _all(trace, "ModuleBuilt")
            yield from (event for event in built if event.site in steps and event.module in models)

    def _ran(self, run: Trace, model: Any) -> bool:  # noqa: ANN401 - a `ModuleBuilt`
        """Whether a model ran that is built there, or one of its class that is built where the source builds none.

        A run does not tell of models that do not run.
        """
        models = _models(run)
        for built in _all(run, "ModuleBuilt"):
            known = _begin(built.site) == _begin(model.site) or _begin(built.site) not in self._starts
            like = same_place(built.site, model.site) or built.class_name == model.class_name
            if known and like and built.module in models:
                return True
        return False

    @cached_property
    def _starts(self) -> frozenset[tuple[str, int | None, int, int]]:
        return frozenset(_begin(event.site) for trace in self._traces for event in _all(trace, "ModuleBuilt"))

    def _needed(self, finding: Finding) -> Iterator[Site]:
        yield finding.site
        yield from self._sources(finding.site)
        for way in self._to(finding):
            yield from way
        yield from (step.site for step in finding.trail)

    def _to(self, finding: Finding) -> list[tuple[Site, ...]]:
        """The calls that lead to a finding, outermost first, for each way on which the source comes there."""
        return sorted({event.scope.calls() for event in self._events.get(finding.site, ())} - {()})


def seen_at(run: Trace, site: Site) -> list[Event]:
    """What happened at a place; where the probe scored an evaluation, it did so in one call of several."""
    return [event for event in run.events if same_place(site, event.site) and not isinstance(event, AnswersScored)]


def came_to(run: Trace, site: Site) -> bool:
    """Whether a run came to a line. Of one that it was not to tell of, nothing else is asked than that something is there."""
    told = run.run.came_to(site) if run.run is not None else None
    return told is not False


def _all(trace: Trace, kind: str) -> list[Any]:
    return trace.of(EVENTS[kind])


def _models(trace: Trace) -> set[int]:
    """Those that run."""
    return {event.module for event in _all(trace, "Forward")}


def _begin(site: Site) -> tuple[str, int | None, int, int]:
    return site.path, site.cell, site.row, site.column


def _goes(calls: Sequence[Site], way: Sequence[Site]) -> bool:
    """Whether calls of a run include those of a way, in this order."""
    left = iter(calls)
    return all(any(same_place(site, call) for call in left) for site in way)
