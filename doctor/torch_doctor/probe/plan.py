"""What one run is to do: which loops it leaves early, what it measures, how long it may take."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from torch_doctor.probe.unreached import places as ways
from torch_doctor.trace import (
    Backward,
    Forward,
    LoopEntered,
    ModeSet,
    SchedulerStepped,
    ScopeKind,
    Stepped,
    WeightsAveraged,
    ZeroGrad,
)
from torch_doctor.trace.versions import ANY, Versions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from torch_doctor.probe.climb import Climb
    from torch_doctor.probe.server import Own
    from torch_doctor.rule import Rule
    from torch_doctor.trace import Branch, Event, Site, Trace

BATCHES = 3
"""Passes through a training loop: the second shows stale gradients, the third growth."""
EPOCHS = 2
"""Passes through what is around it: the second shows modes that were not restored, and accumulators."""
LATE = 8
"""Passes through it where it averages weights, perhaps only from some pass on."""
STEPS = 60
PASS_SECONDS = 2.0
"""How long a loop that only evaluates may take, whose passes are not counted: who cuts predictions must cut targets."""
OFTEN = 8
"""A loop that evaluates every so many passes, or more often, makes two such periods."""
RARE = 16
"""A loop around others that does what a finding is about every so many passes, or more often, comes to it."""
AGAIN = frozenset({"device"})
"""Instruments that look at a run of their own, in which the script is told that there is a GPU."""
ALONE = frozenset({"round_trip"})
"""Instruments for scripts that run alone: what one process reads back, another may have written meanwhile."""
GRADIENTS = frozenset({"norms", "terms", "term_gradients"})
"""Instruments that tell how large gradients are."""
SHARE = 0.85
"""The agent's part of the time, after which it stops the script by itself; then its process is ended."""


class LessonKeeper(Protocol):
    """Keeps what was learnt of a script, until the script or what lies beside it changes."""

    def get(self, request: Request) -> bytes:
        """The lessons of the last probe, a list as JSON."""

    def put(self, request: Request, lessons: bytes) -> None:
        """Keep those of this one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What to run: paths are absolute; `root` is the folder of the project that `script` belongs to.

    `text` is what is run where the file itself is no Python: the code cells of a notebook, one below the other.
    `processes` run it at once, as `torchrun` starts them; where `server` is set, a server forks the one that does, and else
    one of our `own` may. `threads` compute in each (0: as many as it likes). `sinks` are methods that want numbers, by the
    package that has them, and how each uses what it is given. `places` are the lines of which the run is to tell whether it
    came there, by the paths of static sites. `climb` is a checkup that is wanted besides; `figures` says what the agent records of
    a run that is compared with another. `shapes`: the run tells which shapes variables get, and nothing that takes instruments.
    `gradients`: it tells where gradients go, and how large they are. `allowed` gives the versions of torch that the project
    allows for the scripts of a folder. `kept` has what was learnt of the script before, as long as it and the `files` of its
    project stay as they are.
    """

    script: Path
    root: Path
    cwd: Path
    text: str | None = None
    args: tuple[str, ...] = ()
    device: str = "auto"
    python: str = ""
    seconds: float = 60.0
    memory: int = 4096 << 20
    processes: int = 1
    threads: int = 0
    server: bool = False
    own: Own | None = None
    sinks: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    places: frozenset[Site] = frozenset()
    climb: Climb | None = None
    figures: Mapping[str, Any] | None = None
    shapes: bool = False
    gradients: bool = False
    allowed: Callable[[Path], Versions] = lambda _: ANY
    kept: LessonKeeper | None = None
    files: tuple[Path, ...] = ()


def plan(  # noqa: PLR0913 - two ways of naming places, and what is told
    request: Request,
    scratch: Path,
    rules: Iterable[Rule],
    traces: Sequence[Trace],
    absolute: Callable[[str], Path],
    *,
    laid: Callable[[Site], Site] = lambda site: site,
    text: Callable[[str], str] = lambda _: "",
) -> dict[str, Any]:
    """What the agent is told; `absolute` gives the file that the path of a static site stands for, `laid` the place in it.

    `text` is that of a file.

    What is run of a notebook is the text of its cells: a site in a cell lies on a row of that.
    """
    places: dict[str, set[int]] = defaultdict(set)
    for site in map(laid, request.places | ways(traces, text)):
        if site.cell is None:
            places[str(absolute(site.path))].add(site.row)
    besides = ALONE if request.climb is not None else frozenset[str]()
    left_out = AGAIN | ALONE if request.processes > 1 else AGAIN
    return {
        "script": str(request.script),
        "text": request.text,
        "args": list(request.args),
        "cwd": str(request.cwd),
        "project": str(request.root),
        "scratch": str(scratch),
        "device": request.device if request.processes == 1 else "cpu",
        "processes": request.processes,
        "threads": request.threads,
        "batches": BATCHES,
        "epochs": EPOCHS,
        "steps": STEPS,
        "pass_seconds": min(PASS_SECONDS, request.seconds / 10),
        "timeout": request.seconds * SHARE,
        "loops": {
            f"{absolute(place.path)}:{place.row}:{place.column}": loop
            for site, loop in loops(traces, request.places).items()
            if (place := laid(site)).cell is None
        },
        "places": {path: sorted(rows) for path, rows in places.items()},
        "sinks": {package: dict(methods) for package, methods in request.sinks.items()},
        "needs": []
        if request.figures or request.shapes
        else sorted(GRADIENTS)
        if request.gradients
        else sorted(besides.union(*(rule.needs for rule in rules)) - left_out),
        "figures": request.figures,
        "shapes": request.shapes,
        "instrument": True,
    }


def again(first: dict[str, Any], scratch: Path, seconds: float) -> dict[str, Any]:
    """What a second run is to do, in which the script has a GPU, or believes it: each of its loops once or twice."""
    loops = {
        place: {"kind": loop["kind"], "cap": 1 if loop["kind"] == "epoch" else 2}
        for place, loop in first["loops"].items()
    }
    return {
        **first,
        "scratch": str(scratch),
        "pretend": True,
        "processes": 1,
        "needs": sorted(AGAIN),
        "batches": 2,
        "epochs": 1,
        "loops": loops,
        "timeout": seconds * SHARE,
    }


def loops(traces: Iterable[Trace], places: frozenset[Site] = frozenset()) -> dict[Site, dict[str, Any]]:
    """The loops in which the static witness saw gradients computed, each with how many passes show all there is to see.

    The innermost loop around a `backward()` goes over batches, those around it over epochs. One that steps, say, every so
    many passes has that `period`, and one that comes to a finding in `places` so rarely makes as many. Of other loops the
    agent sees for itself what they do.
    """
    traces = list(traces)
    inner: dict[Site, set[Site]] = defaultdict(set)
    for trace in traces:
        sites = {event.site for event in trace.of(LoopEntered)}
        for event in trace.of(Backward):
            path = [site for site in _loops_around(event) if site in sites]
            for depth, site in enumerate(path):
                inner[site].update(path[depth + 1 :])
    periods, rare, late = _periods(traces), _rare(traces, places), _averaged_late(traces)
    nested = {site: within - {site} for site, within in inner.items()}
    within: frozenset[Site] = frozenset().union(*nested.values())
    found: dict[Site, dict[str, Any]] = {}
    for site in sorted(inner):
        if nested[site]:
            often = rare.get(site, 0)
            passes = often + 1 if often <= RARE else 0
            found[site] = {"cap": max(LATE if site in late else EPOCHS, passes), "kind": "epoch"}
        else:
            found[site] = {"cap": BATCHES if site in within else BATCHES * EPOCHS, "kind": "batch"}
            half = rare[site] // 2 + 1 if rare.get(site) else 0  # of which the agent makes two
            if period := max(periods.get(site, 0), half):
                found[site]["period"] = period
    return found


def _periods(traces: Iterable[Trace]) -> dict[Site, int]:
    """The loops that change parameters, gradients, rates or modes every so many passes, each with the longest such period."""
    longest: dict[Site, int] = defaultdict(int)
    for trace in traces:
        evaluating = [event for event in trace.of(ModeSet) if event.training is False]
        training = (*trace.of(Backward), *trace.of(Stepped), *trace.of(ZeroGrad), *trace.of(SchedulerStepped))
        for event in (*training, *evaluating):
            periods = [_period(trace.branches[branch]) for branch, _ in event.guards]
            if isinstance(event, ModeSet):
                periods = [length for length in periods if length <= OFTEN]
            for site in _loops_around(event)[-1:]:
                longest[site] = max([longest[site], *periods])
    return longest


def _rare(traces: Iterable[Trace], places: frozenset[Site]) -> dict[Site, int]:
    """The loops that come to a mode or an evaluation that a finding is about every so many passes, with the longest such period."""
    longest: dict[Site, int] = defaultdict(int)
    rows = {(site.path, site.row) for site in places}
    for trace in traces:
        for event in (*trace.of(ModeSet), *trace.of(Forward)):
            branches = [trace.branches[branch] for branch, _ in event.guards]
            for branch in branches if (event.site.path, event.site.row) in rows else ():
                for site in _around(event, branch.site)[-1:]:
                    longest[site] = max(longest[site], _period(branch))
    return longest


def _period(branch: Branch) -> int:
    """Every how many passes a test holds; 0 where that is not what it tests."""
    return 0 if branch.test is None else branch.test.period


def _around(event: Event, test: Site) -> list[Site]:
    """The headers of the loops that an event lies in and that begin before a test, outermost first."""
    loops = _loops_around(event)
    return [site for site in loops if site.path == test.path and site.row <= test.row] or loops


def _averaged_late(traces: list[Trace]) -> set[Site]:
    """The loops in which weights are averaged once in a pass, or a test decides from which one on."""
    inner = {site for trace in traces for event in trace.of(Backward) for site in _loops_around(event)[-1:]}
    averaged = [event for trace in traces for event in trace.of(WeightsAveraged)]
    late = [event for event in averaged if event.guards or inner.isdisjoint(_loops_around(event))]
    return {site for event in late for site in _loops_around(event)}


def _loops_around(event: Event) -> list[Site]:
    """The headers of the loops that an event lies in, outermost first."""
    return [scope.site for scope in event.scope.chain() if scope.kind is ScopeKind.ITERATION]


def foreseen(traces: Iterable[Trace]) -> frozenset[Site]:
    """The forwards whose results go backward by the source, in one path at least."""
    return frozenset(
        event.site
        for trace in traces
        for backward in trace.of(Backward)
        for event in trace.at(*(backward.forwards | backward.loss.forwards))
        if isinstance(event, Forward)
    )
