"""The static witness: which runs a file has, and the trace of each."""

from __future__ import annotations

import functools
import sys
from typing import TYPE_CHECKING

from torch_doctor.static import again, callers, entry_points, giving_up, unreached
from torch_doctor.static import program as p
from torch_doctor.static.budget import LEAST_STEPS, STEPS_SETTINGS, STEPS_UNCALLED, steps_for
from torch_doctor.static.choosing import Setting
from torch_doctor.static.executing import Executing
from torch_doctor.static.failure import Failure
from torch_doctor.static.followed import NOTHING, Followed
from torch_doctor.static.knowledge import overriding
from torch_doctor.static.language.imported_files import execute_main
from torch_doctor.static.moments import Moment
from torch_doctor.static.options import Options
from torch_doctor.static.task import Task
from torch_doctor.static.training.unresolved import constructing
from torch_doctor.static.training.update import gradients
from torch_doctor.static.values import ClassValue, FunctionValue, Value
from torch_doctor.trace import Loaded, Trace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from torch_doctor.sources.source import SourceFile
    from torch_doctor.static.run import Run
    from torch_doctor.static.unit import Unit
    from torch_doctor.trace import Broken, Dependencies

_RECURSION = 12_000


class Witness(Executing):
    """Executes files of a project, one after the other, and remembers what they import."""

    def file(self, file: SourceFile, before: Followed = NOTHING) -> Iterator[Trace | Failure]:
        """The traces of a file: it is run as a script; then what no script called is run on its own.

        Then come the calls that no run came to, where the call alone shows what is wrong, and the script with other settings
        of its options. `before` is what the runs of those that import the file have come to. A file that cannot be read or
        parsed has no trace. Where the witness fails, that is a `Failure` among the traces: it ends one run, and no other run
        misses anything.
        """
        return self._phases(file, before, (self._script, self._uncalled, self._unreached, self._settings))

    def caller(self, file: SourceFile) -> Iterator[Trace | Failure]:
        """The traces of another script of the project, which is run to learn how it calls the functions of others."""
        return self._phases(file, NOTHING, (self._script,))

    def followed(self) -> Followed:
        """What the runs of the newest file have come to."""
        return self._task.followed(self.imports, self._shared)

    def dependencies(self) -> Dependencies:
        """What the runs of the newest file depend on."""
        self.imports.ask_again(self._task.asked)
        return self.imports.dependencies(self._running)

    def _phases(
        self, file: SourceFile, before: Followed, phases: Sequence[Callable[[Unit], Iterator[Trace]]]
    ) -> Iterator[Trace | Failure]:
        limit = sys.getrecursionlimit()
        sys.setrecursionlimit(max(limit, _RECURSION))
        self._task, self._running = Task(before), file.path
        self.imports.begin()
        try:
            for phase in phases:
                yield from self._guarding(file, phase)
        finally:
            sys.setrecursionlimit(limit)

    def _guarding(self, file: SourceFile, phase: Callable[[Unit], Iterator[Trace]]) -> Iterator[Trace | Failure]:
        """What one phase tells of one file; an error of the witness ends this phase of this file, and nothing else."""
        try:
            unit = self.imports.unit(file.path)
            traces = iter(()) if unit is None else phase(unit)
            while (trace := self._next(file, traces)) is not None:
                yield trace
                self._task.read.update(event.site for event in trace.of(Loaded))
        except Exception as error:  # noqa: BLE001 - whatever it is, the other files are still looked at
            self._failures.append(Failure(file.display, error))
        yield from (*self.imports.failures, *self._failures)
        self.imports.failures.clear()
        self._failures.clear()

    def _next(self, file: SourceFile, traces: Iterator[Trace]) -> Trace | None:
        """The next trace of a phase of a file; None behind the last one, and where the file has no time left."""
        if file.display in self._spending.over:
            return None
        with self._spending.counting(file.display):
            trace = next(traces, None)
            if trace is not None:
                trace.depends = self.imports.dependencies(self._running)
        return trace

    def _script(self, unit: Unit) -> Iterator[Trace]:
        self._task.begin(unit, self.imports)
        if self._was_imported(unit) and "__name__" not in unit.source.text:
            return  # the importing script's run had all of it
        yield from again.as_meant(functools.partial(self._whole, unit))

    def _settings(self, unit: Unit) -> Iterator[Trace]:
        """The script again, with its options as they are by default, and with other settings that matter.

        Together they may take a part of the steps of the first run, if each takes as many as those before it on average.
        """
        task = self._task
        least, part = STEPS_SETTINGS
        most = max(least, part * task.taken)
        for number, setting in enumerate(task.chosen):
            if task.spent * (number + 1) > most * number or task.steps < task.taken:
                return
            yield from again.as_meant(functools.partial(self._with, unit, setting))

    def _with(self, unit: Unit, setting: Setting, meant: frozenset[Broken]) -> Iterator[Trace]:
        with self._executing(unit, meant, setting) as run:
            before = run.steps_left
            run.trace.complete = self._guarded(run, functools.partial(execute_main, run)) and not run.dead_end
            self._task.spent += before - run.steps_left
        if not giving_up.gave_up(run.trace):  # else the rest of the script may make it right
            yield run.trace

    def _whole(self, unit: Unit, meant: frozenset[Broken]) -> Iterator[Trace]:
        with self._executing(unit, meant) as run:
            before = run.steps_left
            ended = self._guarded(run, functools.partial(execute_main, run))
            whole = ended or run.steps_left < 0  # as far as it goes
            if not meant:
                self._task.taken = before - run.steps_left
            if not meant and ended and gradients.trains(run.trace):  # no other script is executed with further settings
                self._task.chosen = run.of(Options).settings()
            if whole and not meant and (entry_points.left_alone(unit, self._task.entered) or unreached.reads(unit)):
                self._task.tops.keep(run, before - run.steps_left)
        yield run.trace
        if run.trace.conditional and not self._task.chosen:
            self._task.chosen = [Setting()]

    # --- what no script called ---

    def _uncalled(self, unit: Unit) -> Iterator[Trace]:
        if uncalled := entry_points.left_alone(unit, self._task.entered):
            self._callers(unit, uncalled)
        if not entry_points.left_alone(unit, self._task.entered):
            return
        waiting = [(name, cls) for name, cls in entry_points.in_order(unit) if cls is None or self._unentered(cls)]
        with self._after_top(unit) as run:
            begin = run.heap.mark()
            self._task.left = steps_for(len(unit.source.lines), STEPS_UNCALLED)
            made = run.objects.save()
            passed_over = []
            for name, cls in waiting:
                run.objects.restore(made)
                functions = [unit.program.functions[name]] if cls is None else self._unentered(cls)
                if self._task.left <= 0 and not any(map(entry_points.may_train, functions)):
                    passed_over.append(name)
                elif cls is None and functions[0] not in self._task.entered:
                    yield from self._also_as_meant(unit, run, functools.partial(self._alone, unit, name))
                elif cls is not None and self._unentered(cls):
                    alone = functools.partial(self._class_alone, unit, name, cls)
                    yield from self._also_as_meant(unit, run, alone)
                run.heap.undo(begin)
            if passed_over:
                yield giving_up.passed_over(run, self._trace(unit, outside=True), passed_over)

    def _unreached(self, unit: Unit) -> Iterator[Trace]:
        """What no run came to, behind a switch that is off, say."""
        calls = [call for call in unreached.reads(unit) if unit.site(call.at) not in self._task.read]
        if calls:
            with self._after_top(unit) as run:
                trace = self._restarted(unit, run)
                self._guarded(run, lambda: unreached.read(run, calls))
            yield trace

    def _unentered(self, cls: p.Class) -> list[p.Function]:
        return [function for function in entry_points.methods(cls) if function not in self._task.entered]

    def _callers(self, unit: Unit, names: list[str]) -> None:
        """Run the project's other scripts that may call what nobody has called yet."""
        if self._follow is None:
            return
        task, steps = self._task, self._task.left
        for other in callers.of(self.imports, unit, names):
            task.asks(self.imports.begin())
            came_to = self._follow(other)
            self._task, self._running = task, unit.source.path
            self.imports.begin()
            task.take(came_to, unit, self.imports)
        task.left = steps

    def _also_as_meant(self, unit: Unit, run: Run, alone: Callable[[Run], Iterator[Trace]]) -> Iterator[Trace]:
        """A run on its own; then, with the file's top level before it, further ones in which broken parts do what was meant."""
        task = self._task
        entered, left = frozenset(task.entered), task.left

        def execute(meant: frozenset[Broken]) -> Iterator[Trace]:
            if not meant:
                yield from alone(run)
                return
            before = {"entered": set(entered), "left": left}
            with overriding(task, before), self._executing(unit, meant, outside=True) as other:
                self._guarded(other, other.run)
                other.settle()
                yield from alone(other)

        yield from again.as_meant(execute)

    def _alone(self, unit: Unit, name: str, run: Run) -> Iterator[Trace]:
        trace = self._restarted(unit, run)
        value = run.home.fields.get(name)
        if isinstance(value, FunctionValue):
            self._guarded(run, lambda: entry_points.enter(run, value))
            yield trace

    def _class_alone(self, unit: Unit, name: str, cls: p.Class, run: Run) -> Iterator[Trace]:
        value = run.home.fields.get(name)
        if not isinstance(value, ClassValue):
            return
        trace, steps = self._restarted(unit, run), run.steps_left
        built: list[Value] = []
        by_heirs = any(each.name == "__init__" and each in self._task.entered for each in entry_points.methods(cls))
        self._guarded(run, lambda: built.append(constructing.construct(run, value)))
        fresh = Moment(run, steps)
        if by_heirs:
            entry_points.initialised_by_heirs(trace, value)
        if built:
            self._guarded(run, functools.partial(entry_points.use, run, built[0], cls))
        yield trace
        for function in sorted(entry_points.of_object(value), key=entry_points.by_drive):
            if self._task.is_entered(function, self.imports):
                continue
            left = min(max(self._task.left, LEAST_STEPS), self._task.steps) - fresh.steps
            self._task.left -= fresh.steps  # as if it were made for each: long constructors leave others their steps
            if built and left >= 0:
                trace = fresh.go_on(self._trace(unit, outside=True), left)
                self._guarded(run, functools.partial(entry_points.method, run, built[0], value, function))
                yield trace
