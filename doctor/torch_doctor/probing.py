"""The part of a scan that runs scripts: from a file and what the static witness saw of it to what a run shows."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from torch_doctor.processes import cores
from torch_doctor.rule import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from torch_doctor.probe import Attention, LessonKeeper, Outcome, Own
    from torch_doctor.probe.climb import Climb
    from torch_doctor.rule import Finding, Rule
    from torch_doctor.sources.ignores import Patterns
    from torch_doctor.sources.project import Project
    from torch_doctor.trace import Run, Site, Trace

NOTEBOOK = ".ipynb"
ROOM = 2048 << 20  # bytes of memory that a run of a small script takes, generously


class Figuring(Struct):
    """What runs record that are compared with others.

    `keeps` names what a fix may change, which is recorded so that the other run can put it back; `before` holds the runs of
    the original, by the scripts' names, and `runs` what came of these ones.
    """

    keeps: frozenset[str] = frozenset()
    before: Mapping[str, Run] = field(default_factory=dict)
    runs: dict[str, Run] = field(default_factory=dict)

    def asked(self, script: str) -> dict[str, object]:
        """Return what the agent is asked to do."""
        before = self.before.get(script)
        replays = {} if before is None else {what: before.replays.get(what, []) for what in self.keeps}
        return {"keeps": [] if before else sorted(self.keeps), "replays": replays}


class Probing(Struct, frozen=True, kw_only=True):
    """How to run the files of a scan: each is a script, run in the working directory with the arguments `args`.

    `arguments` are those of scripts that match a pattern, and `scripts` the scripts to run in folders (None: those that train).
    `required`: that one could not be run is an error. `device` is "cpu", "cuda" or "auto", `python` names an interpreter
    or an environment ("": the project's), `seconds` and `memory` (in bytes; 0: most of what is free) are what each run may
    take. `processes` run a script at once, as `torchrun` starts them; `jobs` scripts are run side by side (0: as many as the
    machine has room for). `server`: a server that keeps torch imported forks the processes, or one of the
    command's `own`. `flags`: scripts are run once more with arguments that findings need.
    `sinks` are methods that want numbers, by the package that has them, and how each uses what it is given. Of `places` each
    run tells whether it came there. `climb` is a checkup that is wanted besides. `figuring`: the runs are to be compared with
    others. `shapes`: the runs tell which shapes variables get, and little else.
    `gradients`: they tell where gradients go, and how large they are. `kept` has what was learnt of scripts before.
    """

    args: tuple[str, ...] = ()
    arguments: tuple[tuple[Patterns, tuple[str, ...]], ...] = ()
    scripts: Patterns | None = None
    required: bool = False
    device: str = "auto"
    python: str = ""
    seconds: float = 60.0
    memory: int = 0
    processes: int = 1
    jobs: int = 0
    server: bool = False
    flags: bool = False
    own: Own | None = None
    sinks: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    places: frozenset[Site] = frozenset()
    climb: Climb | None = None
    figuring: Figuring | None = None
    shapes: bool = False
    gradients: bool = False
    kept: LessonKeeper | None = None

    def args_for(self, script: Path) -> tuple[str, ...]:
        """Return the command-line arguments of a script: those of the last pattern that matches it, else `args`."""
        return next((args for patterns, args in reversed(self.arguments) if patterns.match(script)), self.args)


class Runnable(Struct, frozen=True):
    """The scripts of a project and what the static witness saw of them."""

    project: Project
    scripts: Sequence[Path]
    traces: Sequence[Trace]


def saw_nothing(finding: Finding) -> bool:
    """Whether the run reached the line of a finding, to its end, and nothing of the kind happened there."""
    from torch_doctor.probe.verdicts import SAW_NO  # noqa: PLC0415 - only where it is asked for

    return finding.verdict is Verdict.NOT_REACHED and any(each.claim.startswith(SAW_NO) for each in finding.evidence)


@contextlib.contextmanager
def served(how: Probing) -> Iterator[Probing]:
    """Give a way of running scripts several times: torch is imported once for all runs."""
    from torch_doctor.probe import Own  # noqa: PLC0415 - only where it is asked for

    with contextlib.closing(Own(several=True)) as own:
        yield replace(how, own=own)


def jobs_for(scripts: int, how: Probing) -> int:
    """How many of so many scripts are run side by side: for each a core, and memory for torch and a small model."""
    from torch_doctor.probe.launch import usual_memory  # noqa: PLC0415 - only where it is asked for

    room = how.jobs or max(1, min(cores() // how.processes, usual_memory() // ROOM))
    return max(1, min(scripts, room))


def probed(script: Path, part: Runnable, rules: Sequence[Rule], how: Probing, attention: Attention) -> Outcome:
    """Run one script, as far as the rules need it; somebody waits for it with this `attention`."""
    import dataclasses  # noqa: PLC0415 - only where it is asked for

    from torch_doctor.probe import Names, Outcome, Request, probe  # noqa: PLC0415 - as above
    from torch_doctor.probe.launch import usual_memory  # noqa: PLC0415 - as above
    from torch_doctor.probe.starting import start  # noqa: PLC0415 - as above
    from torch_doctor.sources.discovery import display  # noqa: PLC0415 - as above

    if attention.stop.asked:
        return Outcome(ending="the scan was interrupted before this script was run")
    project = part.project

    def placed(site: Site) -> Site:
        notebook = project.read(project.displayed(site.path)) if site.path.endswith(NOTEBOOK) else None
        return site if notebook is None else notebook.site(*site[1:5])

    def laid(site: Site) -> Site:
        notebook = None if site.cell is None else project.read(project.displayed(site.path))
        return site if notebook is None else notebook.laid(site)

    file = project.read(script)
    files = tuple(sorted({project.displayed(trace.path) for trace in part.traces}))
    here, given = Path.cwd(), how.args_for(script)  # what is given is meant for here
    folder, path = (here, "") if given else start(here, script, project.root, files)
    request = Request(
        script=script,
        text=file.text if file is not None and file.cells is not None else None,
        root=project.root,
        cwd=folder,
        args=given,
        device=how.device,
        python=how.python,
        seconds=how.seconds,
        memory=how.memory or usual_memory(how.jobs),
        processes=how.processes,
        server=how.server,
        own=how.own,
        threads=cores() // how.jobs if how.jobs > 1 else 0,
        sinks=how.sinks,
        places=how.places,
        climb=how.climb,
        shapes=how.shapes,
        gradients=how.gradients,
        allowed=project.torch,
        kept=how.kept,
        files=files,
        figures=None if how.figuring is None else how.figuring.asked(project.shown(script)),
    )
    try:
        outcome = probe(request, rules, part.traces, Names(project.shown, project.displayed, placed, laid), attention)
        if how.figuring is not None and outcome.trace is not None and outcome.trace.run is not None:
            how.figuring.runs[project.shown(script)] = outcome.trace.run
        where = f"{project.shown(script)} was started in `{display(folder)}`, where `{path}` is"
        return dataclasses.replace(outcome, remarks=(*outcome.remarks, where)) if path and outcome.remarks else outcome
    finally:
        attention.follower.done(project.shown(script))
