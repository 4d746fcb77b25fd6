"""The static witness: which runs a set of files has, and the trace of each."""

from __future__ import annotations

import functools
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from torch_doctor.static import again, callers, entry_points, giving_up, repeating, saves, unreached
from torch_doctor.static import program as p
from torch_doctor.static.budget import LEAST_STEPS, STEPS_UNCALLED, OutOfBudget, OutOfTime, steps_for
from torch_doctor.static.failure import Failure
from torch_doctor.static.imports import Imports
from torch_doctor.static.knowledge import overriding
from torch_doctor.static.language.files import execute_main
from torch_doctor.static.order import importers_first
from torch_doctor.static.registry import Imported, Registry
from torch_doctor.static.run import Run
from torch_doctor.static.spending import FOR_RUNS, Spending
from torch_doctor.static.tops import Tops
from torch_doctor.static.training.mending import Mending
from torch_doctor.static.values import ClassValue, FunctionValue, Namespace, Value
from torch_doctor.trace import Loaded, Trace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from torch_doctor.sources.project import Project
    from torch_doctor.sources.source import SourceFile
    from torch_doctor.static.installed.environment import Environment
    from torch_doctor.static.unit import Unit
    from torch_doctor.trace import Broken, Event, Site

_RECURSION = 12_000


def witness(
    files: Sequence[SourceFile],
    project: Project,
    *,
    on_file: Callable[[SourceFile], None] | None = None,
    wanted: frozenset[type[Event]] | None = None,
    environment: Environment | None = None,
    spending: Spending | None = None,
) -> Iterator[Trace | Failure]:
    """The traces of these files: each is run as a script; then what no script called is run on its own.

    Last come the calls that no run came to, where the call alone shows what is wrong.

    `wanted` are the events that somebody reads (None: all): what only some others would need is not looked for.

    `on_file` is told each file before it is run. Files that cannot be read or parsed are passed over. Where the witness
    fails, that is a `Failure` among the traces: it ends one run, and no other run and no other file misses anything.
    `spending` counts what the files cost, and ends their runs.
    """
    return _Witness(project, wanted, Imports(project, environment, spending)).traces(files, on_file)


class _Witness:
    """One scan's runs; remembers which functions some run has entered."""

    def __init__(self, project: Project, wanted: frozenset[type[Event]] | None, imports: Imports) -> None:
        self._project = project
        self._wanted = wanted
        self._imports = imports
        self._entered: set[p.Function] = set()
        self._ran: set[Path] = set()
        self._read: set[Site] = set()  # where some run has read a checkpoint
        self._shared: dict[Path, Namespace] = {}
        self._objects = Imported()
        self._last = Trace("")  # the newest
        self._top = self._last  # of the current file's top level
        self._left = 0.0  # of STEPS_UNCALLED, in the current file
        self._tops = Tops()
        self._spending = imports.spending
        self._failures: list[Failure] = []
        self._running = project.root  # the file whose run is the newest
        self._asked: frozenset[str] = frozenset()  # the given files and those that they import

    def traces(
        self, files: Sequence[SourceFile], on_file: Callable[[SourceFile], None] | None
    ) -> Iterator[Trace | Failure]:
        limit = sys.getrecursionlimit()
        sys.setrecursionlimit(max(limit, _RECURSION))
        try:
            ordered = importers_first(files, self._imports)
            for phase in (self._script, self._uncalled, self._unreached):
                for file in ordered:
                    if on_file is not None and phase == self._script:
                        on_file(file)
                    yield from self._guarding(file, phase)
                if phase == self._script:
                    given = {file.path for file in files}.union(self._shared)
                    self._asked = frozenset(unit.source.display for path in given if (unit := self._imports.unit(path)))
        finally:
            sys.setrecursionlimit(limit)
            self._spending.close()

    def _guarding(self, file: SourceFile, phase: Callable[[Unit], Iterator[Trace]]) -> Iterator[Trace | Failure]:
        """What one phase tells of one file; an error of the witness ends this phase of this file, and nothing else."""
        try:
            unit = self._imports.unit(file.path)
            traces = iter(()) if unit is None else phase(unit)
            while (trace := self._next(file, traces)) is not None:
                yield trace
                self._read.update(event.site for event in trace.of(Loaded))
        except Exception as error:  # noqa: BLE001 - whatever it is, the other files are still looked at
            self._failures.append(Failure(file.display, error))
        yield from (*self._imports.failures, *self._failures)
        self._imports.failures.clear()
        self._failures.clear()

    def _next(self, file: SourceFile, traces: Iterator[Trace]) -> Trace | None:
        """The next trace of a phase of a file; None behind the last one, and where the file has no time left."""
        if self._spending.has_run(file.display):
            return None
        with self._spending.counting(file.display):
            trace = next(traces, None)
            if trace is not None:
                trace.depends = self._imports.dependencies(self._running)
        return trace

    def _script(self, unit: Unit) -> Iterator[Trace]:
        path = unit.source.path
        self._ran.add(path)
        if self._imported(path) and "__name__" not in unit.source.text:
            return  # the importing script's run had all of it
        yield from again.as_meant(functools.partial(self._whole, unit))

    def _whole(self, unit: Unit, meant: frozenset[Broken]) -> Iterator[Trace]:
        with self._executing(unit, meant) as executor:
            before = executor.steps_left
            ended = self._guarded(executor, functools.partial(execute_main, executor))
            if ended and not meant and (entry_points.left_alone(unit, self._entered) or unreached.reads(unit)):
                self._tops.keep(executor, before - executor.steps_left)
        yield executor.trace

    def _imported(self, path: Path) -> Namespace | None:
        """The globals of a file whose top level some run has executed to its end."""
        return namespace if (namespace := self._shared.get(path)) is not None and namespace.whole else None

    @contextmanager
    def _executing(self, unit: Unit, meant: frozenset[Broken] = frozenset(), *, outside: bool = False) -> Iterator[Run]:
        """An execution of the file; what it changes is undone at its end, however it ends."""
        trace = self._trace(unit, outside=outside)
        home = self._imported(unit.source.path) if outside and not meant else None
        steps = entry_points.steps_of(unit, outside=outside)
        executor = Run(trace, unit, self._imports, steps, self._shared, Registry(self._objects), home, self._wanted)
        executor.of(Mending).mend(meant)
        if home is not None:
            repeating.bring(executor, unit.source.path)
        try:
            yield executor
        finally:
            executor.heap.undo(0)

    def _trace(self, unit: Unit, *, outside: bool) -> Trace:
        """A trace whose numbers go on where the last one's ended."""
        self._running = unit.source.path
        self._imports.begin()
        self._last = Trace(
            unit.source.display,
            begins_outside=outside,
            first=self._last.next,
            torch=functools.partial(self._project.torch, self._running.parent),
            saved=functools.partial(saves.saved, self._project),
        )
        return self._last

    def _guarded(self, executor: Run, run: Callable[[], object]) -> bool:
        """Run, and say where the run was given up: what is unknown then is everything; True where it was not."""
        before, unit = executor.steps_left, executor.main
        ended = False
        try:
            with self._spending.ending(unit.source.display, FOR_RUNS):
                run()
            ended = True
        except OutOfBudget:
            giving_up.lose(executor, "the file takes too many steps")
            executor.entered -= entry_points.cut_off(executor)
        except (OutOfTime, RecursionError) as error:
            nested = isinstance(error, RecursionError)
            giving_up.lose(executor, "calls nest too deeply" if nested else "the file takes too much time")
        except Exception as error:  # noqa: BLE001 - it ends this run, and the others go on
            giving_up.lose(executor, "an internal error")
            self._failures.append(Failure(unit.source.display, error))
        self._left -= before - max(executor.steps_left, 0)
        self._entered |= executor.entered
        return ended

    @contextmanager
    def _after_top(self, unit: Unit) -> Iterator[Run]:
        """An execution of the file that has its top level behind it; what it changes is undone at its end."""
        kept = self._tops.has(unit) and not self._imported(unit.source.path)
        with self._tops.gone_on_with(unit) if kept else self._executing(unit, outside=True) as executor:
            if not kept:
                self._guarded(executor, executor.run)
                executor.settle()
            self._top = executor.trace
            yield executor

    # --- what no script called ---

    def _uncalled(self, unit: Unit) -> Iterator[Trace]:
        if uncalled := entry_points.left_alone(unit, self._entered):
            yield from self._callers(unit, uncalled)
        if not entry_points.left_alone(unit, self._entered):
            return
        waiting = [(name, cls) for name, cls in entry_points.in_order(unit) if cls is None or self._unentered(cls)]
        with self._after_top(unit) as executor:
            begin = executor.heap.mark()
            self._left = steps_for(len(unit.source.lines), STEPS_UNCALLED)
            made = executor.objects.save()
            passed_over = []
            for name, cls in waiting:
                executor.objects.restore(made)
                functions = [unit.program.functions[name]] if cls is None else self._unentered(cls)
                if self._left <= 0 and not any(map(entry_points.may_train, functions)):
                    passed_over.append(name)
                elif cls is None and functions[0] not in self._entered:
                    yield from self._also_as_meant(unit, executor, functools.partial(self._alone, unit, name))
                elif cls is not None and self._unentered(cls):
                    run = functools.partial(self._class_alone, unit, name, cls)
                    yield from self._also_as_meant(unit, executor, run)
                executor.heap.undo(begin)
            if passed_over:
                yield giving_up.passed_over(executor, self._trace(unit, outside=True), passed_over)

    def _unreached(self, unit: Unit) -> Iterator[Trace]:
        """What no run came to, behind a switch that is off, say."""
        calls = [call for call in unreached.reads(unit) if unit.site(call.at) not in self._read]
        if calls:
            with self._after_top(unit) as executor:
                trace = self._restarted(unit, executor)
                self._guarded(executor, lambda: unreached.read(executor, calls))
            yield trace

    def _unentered(self, cls: p.Class) -> list[p.Function]:
        return [function for function in entry_points.methods(cls) if function not in self._entered]

    def _callers(self, unit: Unit, names: list[str]) -> Iterator[Trace]:
        """Run the project's other scripts that may call what nobody has called yet."""
        for other in callers.of(self._project, unit, names, self._ran):
            caller = self._imports.unit(other)
            if caller is not None:
                for trace in self._script(caller):
                    trace.reports_in = self._asked
                    yield trace

    def _restarted(self, unit: Unit, executor: Run) -> Trace:
        trace = entry_points.begun(self._trace(unit, outside=True), self._top)
        executor.restart(trace, max(self._left, LEAST_STEPS))
        return trace

    def _also_as_meant(self, unit: Unit, executor: Run, run: Callable[[Run], Iterator[Trace]]) -> Iterator[Trace]:
        """A run on its own; then, with the file's top level before it, further ones in which broken parts do what was meant."""
        entered, left = frozenset(self._entered), self._left

        def execute(meant: frozenset[Broken]) -> Iterator[Trace]:
            if not meant:
                yield from run(executor)
                return
            before = {"_entered": set(entered), "_left": left}
            with overriding(self, before), self._executing(unit, meant, outside=True) as other:
                self._guarded(other, other.run)
                other.settle()
                yield from run(other)

        yield from again.as_meant(execute)

    def _alone(self, unit: Unit, name: str, executor: Run) -> Iterator[Trace]:
        trace = self._restarted(unit, executor)
        value = executor.home.fields.get(name)
        if isinstance(value, FunctionValue):
            self._guarded(executor, lambda: entry_points.enter(executor, value))
            yield trace

    def _class_alone(self, unit: Unit, name: str, cls: p.Class, executor: Run) -> Iterator[Trace]:
        value = executor.home.fields.get(name)
        if not isinstance(value, ClassValue):
            return
        begin, made, trace = executor.heap.mark(), executor.objects.save(), self._restarted(unit, executor)
        built: list[Value] = []
        by_heirs = any(each.name == "__init__" and each in self._entered for each in entry_points.methods(cls))
        self._guarded(executor, lambda: built.append(entry_points.construct(executor, value)))
        if by_heirs:
            entry_points.initialised_by_heirs(trace, value)
        if built:
            self._guarded(executor, functools.partial(entry_points.use, executor, built[0], cls))
        yield trace
        for function in sorted(entry_points.of_object(value), key=entry_points.by_drive):
            if function in self._entered:
                continue
            executor.heap.undo(begin)
            executor.objects.restore(made)
            trace = self._restarted(unit, executor)
            self._guarded(executor, functools.partial(entry_points.method, executor, value, function))
            yield trace
