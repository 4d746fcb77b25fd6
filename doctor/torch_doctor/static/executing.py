"""Executes one file as a script, or in the state in which its top level ended, and says where a run was given up."""

from __future__ import annotations

import functools
from contextlib import contextmanager
from typing import TYPE_CHECKING

from torch_doctor.static import entry_points, giving_up, repeating
from torch_doctor.static.budget import LEAST_STEPS, OutOfBudget, OutOfTime
from torch_doctor.static.failure import Failure
from torch_doctor.static.imports import Imports
from torch_doctor.static.language.imported_files import execute_to_stay
from torch_doctor.static.options import Options
from torch_doctor.static.registry import Imported, Registry
from torch_doctor.static.run import Run
from torch_doctor.static.spending import FOR_RUNS, Spending
from torch_doctor.static.task import Task
from torch_doctor.static.training.mending import Mending
from torch_doctor.trace import Trace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from torch_doctor.sources.project import Project
    from torch_doctor.static.choosing import Setting
    from torch_doctor.static.followed import Followed
    from torch_doctor.static.installed.whose import Environment
    from torch_doctor.static.unit import Unit
    from torch_doctor.static.values import Namespace
    from torch_doctor.trace import Broken, Event


class Executing:
    """Executes files of a project, one after the other, and remembers what they import.

    `wanted` are the events that somebody reads (None: all): what only some others would
    need is not looked for. `spending` counts what the files cost, and ends their runs. `follow` runs another script of the
    project, which may call what nobody has called yet, with `Witness.caller`, and returns what that came to; without it no other
    script is run.
    """

    def __init__(
        self,
        project: Project,
        *,
        wanted: frozenset[type[Event]] | None = None,
        environment: Environment | None = None,
        spending: Spending | None = None,
        follow: Callable[[Path], Followed] | None = None,
    ) -> None:
        self._spending = spending or Spending()
        self.imports = Imports(project, environment, self._spending)
        self._project = project
        self._wanted = wanted
        self._follow = follow
        self._shared: dict[Path, Namespace] = {}
        self._objects = Imported()
        self._last = Trace("")  # the newest
        self._top = self._last  # of the current file's top level
        self._failures: list[Failure] = []
        self._running = project.root  # the file whose run is the newest
        self._task = Task()

    @property
    def characters(self) -> int:
        """How much source was lowered."""
        return self.imports.characters

    def close(self) -> None:
        """End the thread that watches the time."""
        self._spending.close()

    def _was_imported(self, unit: Unit) -> bool:
        """Whether one of the files that import this one has executed its top level to the end."""
        return str(unit.source.path) in self._task.before.whole

    @contextmanager
    def _executing(
        self,
        unit: Unit,
        meant: frozenset[Broken] = frozenset(),
        setting: Setting | None = None,
        *,
        outside: bool = False,
    ) -> Iterator[Run]:
        """An execution of the file; what it changes is undone at its end, however it ends."""
        trace = self._trace(unit, outside=outside)
        if setting is not None:
            trace.setting, trace.arguments, trace.naming = setting.words, setting.arguments, setting.naming
        path = unit.source.path
        imported = outside and not meant and self._was_imported(unit)
        home = self._shared.get(path) if imported else None
        steps = min(entry_points.steps_of(unit, outside=outside), self._task.steps)
        run = Run(trace, unit, self.imports, steps, self._shared, Registry(self._objects), home, self._wanted)
        run.share = run.position.share = entry_points.share_of(unit, outside=outside)
        run.of(Mending).mend(meant)
        run.of(Options).setting = setting
        if home is not None:
            repeating.bring(run, path)
        elif imported:  # by the run of another process, say
            self._guarded(run, functools.partial(execute_to_stay, run, unit, run.home))
        try:
            yield run
        finally:
            run.heap.undo(0)

    def _trace(self, unit: Unit, *, outside: bool) -> Trace:
        """A trace whose numbers go on where the last one's ended."""
        self._running = unit.source.path
        self._task.asks(self.imports.begin())
        self._last = Trace(
            unit.source.display,
            begins_outside=outside,
            first=self._last.next,
            torch=functools.partial(self.imports.torch, self._running.parent),
            saved=self.imports.saved,
            read_whole=self.imports.read_whole,
        )
        return self._last

    def _guarded(self, run: Run, work: Callable[[], object]) -> bool:
        """Run, and say where the run was given up: what is unknown then is everything; True where it was not."""
        before, unit = run.steps_left, run.main
        ended = False
        try:
            with self._spending.ending(unit.source.display, FOR_RUNS):
                work()
            ended = True
        except OutOfBudget:
            giving_up.lose(run, "the file exceeds the step limit")
            run.entered -= entry_points.cut_off(run)
        except (OutOfTime, RecursionError) as error:
            nested = isinstance(error, RecursionError)
            giving_up.lose(run, "calls are nested too deeply" if nested else "the file exceeds the time limit")
        except Exception as error:  # noqa: BLE001 - it ends this run, and the others go on
            giving_up.lose(run, "an internal error")
            self._failures.append(Failure(unit.source.display, error))
        used = before - max(run.steps_left, 0)
        self._task.left -= used
        self._task.steps -= used
        self._task.hear(run)
        return ended

    @contextmanager
    def _after_top(self, unit: Unit) -> Iterator[Run]:
        """An execution of the file that has its top level behind it; what it changes is undone at its end."""
        kept = self._task.tops.has(unit) and not self._was_imported(unit)
        with self._task.tops.gone_on_with(unit) if kept else self._executing(unit, outside=True) as run:
            if not kept:
                self._guarded(run, run.run)
                run.settle()
            self._top = run.trace
            yield run

    def _restarted(self, unit: Unit, run: Run) -> Trace:
        trace = entry_points.begun(self._trace(unit, outside=True), self._top)
        run.restart(trace, min(max(self._task.left, LEAST_STEPS), self._task.steps))
        return trace
