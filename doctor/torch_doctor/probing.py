"""The part of a scan that runs scripts: from a file and what the static witness saw of it to what a run shows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, field

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from torch_doctor.probe import Outcome
    from torch_doctor.rule import Rule
    from torch_doctor.sources.project import Project
    from torch_doctor.trace import Site, Trace

NOTEBOOK = ".ipynb"


class Probing(Struct, frozen=True, kw_only=True):
    """How to run the files of a scan: each is a script, run in the working directory with the arguments `args`.

    `required`: that one could not be run is an error. `device` is "cpu", "cuda" or "auto", `python` names an interpreter
    or an environment ("": the project's), `seconds` and `memory` (in bytes; 0: most of what is free) are what each run may
    take. `processes` run a script at once, as `torchrun` starts them.
    `sinks` are methods that want numbers, by the package that has them, and how each uses what it is given.
    """

    args: tuple[str, ...] = ()
    required: bool = False
    device: str = "auto"
    python: str = ""
    seconds: float = 60.0
    memory: int = 0
    processes: int = 1
    sinks: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


def probed(script: Path, project: Project, traces: Sequence[Trace], rules: Sequence[Rule], how: Probing) -> Outcome:
    """Run one script, as far as the rules need it."""
    from torch_doctor.probe import Names, Request, probe  # noqa: PLC0415 - only where it is asked for
    from torch_doctor.probe.launch import usual_memory  # noqa: PLC0415 - as above

    def placed(site: Site) -> Site:
        notebook = project.read(project.displayed(site.path)) if site.path.endswith(NOTEBOOK) else None
        return site if notebook is None else notebook.site(*site[1:5])

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
        memory=how.memory or usual_memory(),
        processes=how.processes,
        sinks=how.sinks,
    )
    return probe(request, rules, traces, Names(project.shown, project.displayed, placed))
