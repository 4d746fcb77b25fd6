"""The part of a scan that runs scripts: from a file and what the static witness saw of it to what a run shows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, field

from torch_doctor.processes import cores

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from torch_doctor.probe import Attention, Outcome, Own
    from torch_doctor.probe.climb import Climb
    from torch_doctor.rule import Rule
    from torch_doctor.sources.project import Project
    from torch_doctor.trace import Site, Trace

NOTEBOOK = ".ipynb"
ROOM = 2048 << 20  # bytes of memory that a run of a small script takes, generously


class Probing(Struct, frozen=True, kw_only=True):
    """How to run the files of a scan: each is a script, run in the working directory with the arguments `args`.

    `required`: that one could not be run is an error. `device` is "cpu", "cuda" or "auto", `python` names an interpreter
    or an environment ("": the project's), `seconds` and `memory` (in bytes; 0: most of what is free) are what each run may
    take. `processes` run a script at once, as `torchrun` starts them; `jobs` scripts are run side by side (0: as many as the
    machine has room for). `server`: a server that keeps torch imported forks the processes, or one of the
    command's `own`.
    `sinks` are methods that want numbers, by the package that has them, and how each uses what it is given. Of `places` each
    run tells whether it came there. `climb` is a checkup that is wanted besides.
    """

    args: tuple[str, ...] = ()
    required: bool = False
    device: str = "auto"
    python: str = ""
    seconds: float = 60.0
    memory: int = 0
    processes: int = 1
    jobs: int = 0
    server: bool = False
    own: Own | None = None
    sinks: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    places: frozenset[Site] = frozenset()
    climb: Climb | None = None


class Runnable(Struct, frozen=True):
    """The scripts of a project and what the static witness saw of them."""

    project: Project
    scripts: Sequence[Path]
    traces: Sequence[Trace]


def jobs_for(scripts: int, how: Probing) -> int:
    """How many of so many scripts are run side by side: for each a core, and memory for torch and a small model."""
    from torch_doctor.probe.launch import usual_memory  # noqa: PLC0415 - only where it is asked for

    room = how.jobs or max(1, min(cores() // how.processes, usual_memory() // ROOM))
    return max(1, min(scripts, room))


def probed(script: Path, part: Runnable, rules: Sequence[Rule], how: Probing, attention: Attention) -> Outcome:
    """Run one script, as far as the rules need it; somebody waits for it with this `attention`."""
    from torch_doctor.probe import Names, Outcome, Request, probe  # noqa: PLC0415 - only where it is asked for
    from torch_doctor.probe.launch import usual_memory  # noqa: PLC0415 - as above

    if attention.stop.asked:
        return Outcome(ending="the scan was interrupted before its turn")
    project = part.project

    def placed(site: Site) -> Site:
        notebook = project.read(project.displayed(site.path)) if site.path.endswith(NOTEBOOK) else None
        return site if notebook is None else notebook.site(*site[1:5])

    def laid(site: Site) -> Site:
        notebook = None if site.cell is None else project.read(project.displayed(site.path))
        return site if notebook is None else notebook.laid(site)

    file = project.read(script)
    request = Request(
        script=script,
        text=file.text if file is not None and file.cells is not None else None,
        root=project.root,
        cwd=Path.cwd(),
        args=how.args,
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
    )
    try:
        return probe(request, rules, part.traces, Names(project.shown, project.displayed, placed, laid), attention)
    finally:
        attention.follower.done(project.shown(script))
