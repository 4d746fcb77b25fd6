"""Executes the top levels of imported files: once for all runs, and those that only define something when they are used."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from torch_doctor.static import repeating
from torch_doctor.static.budget import OutOfBudget
from torch_doctor.static.knowledge import overriding
from torch_doctor.static.language import deferring
from torch_doctor.static.position import Position
from torch_doctor.static.values import Fact, Namespace, NamespacePackage, Unknown
from torch_doctor.static.values.functions import top_frame

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from torch_doctor.static.run import Run
    from torch_doctor.static.unit import Unit
    from torch_doctor.static.values import Value

_IMPORT_DEPTH = 40
IMPORT_STEPS = 4_000
"""Steps that the top level of an imported file may take; it is executed once for all runs."""
LATER_STEPS = 50
"""Steps for each of its statements after that: what defines a name still does."""


def namespace_at(run: Run, path: Path) -> Namespace | None:
    """A project file's globals; the file is executed when it is first asked for."""
    namespace = run.units.get(path)
    if namespace is not None and namespace is not run.home:
        repeating.bring(run, path)
        return namespace
    if path == run.main.source.path:
        return run.home
    unit = run.imports.unit(path)
    if unit is None or run.position.importing >= _IMPORT_DEPTH:
        return None
    namespace = Namespace(unit)
    execute_to_stay(run, unit, namespace)
    return namespace


def execute_main(run: Run) -> None:
    """Execute a file as a script; a part of a large package, as those do that import it, and for all of them."""
    unit, path = run.main, run.main.source.path
    around = run.imports.unit(path.with_name("__init__.py")) if "__name__" not in unit.source.text else None
    if around is not None and run.imports.is_large(around) and around is not unit:
        execute_to_stay(run, unit, run.home)
    else:
        run.run()


def execute_to_stay(run: Run, unit: Unit, namespace: Namespace) -> None:
    """Execute the top level of a file once for all runs."""
    path = unit.source.path
    quiet = run.imports.is_quiet(path)
    run.units[path] = namespace
    modes: Mapping[object, Any] = {}
    run.heap.aside()
    own = run.objects.begin_import()
    position = _beginning(run, unit, namespace) if quiet else run.position
    with run.at(position):
        recording = repeating.begin(run, path)
    try:
        first = run.heap.at_first(but=run.home.fields) if quiet else nullcontext()
        with overriding(run, {"position": position, "steps_left": run.steps_left}), first:
            execute_top(run, unit, namespace)
        image = recording.image(run)
        modes = image.modes
        recording.put_modes_back(run)
        run.objects.share(path, image)
    except BaseException:
        del run.units[path]  # whoever imports it next begins anew
        run.heap.undo(0)
        raise
    finally:
        recording.end(run)
        run.objects.end_import(own)
        run.heap.back()
        repeating.switch(run, modes)  # on this path, as what the run does itself


def _beginning(run: Run, unit: Unit, namespace: Namespace) -> Position:
    """Where a quiet file is executed, whoever uses it first: on no path, in no loop, before all that the run did."""
    position = Position(top_frame(unit, namespace), unit.site((1, 1, 1, 1)))
    return position.moved(scope=run.scope.chain()[0], importing=run.position.importing)


def execute_top(run: Run, unit: Unit, namespace: Namespace) -> None:
    """Execute a file's top level; a statement that takes too much is passed over, so that the names after it are there."""
    outer = run.position
    left = IMPORT_STEPS
    whole = True
    for statement in unit.program.body:
        position = outer.moved(
            frame=top_frame(unit, namespace),
            iteration=None,
            loop=None,
            modules_called=(),
            importing=outer.importing + 1,
        )
        before, modes = max(left, LATER_STEPS), repeating.modes(run)
        run.steps_left = before
        try:
            with run.at(position):
                goes_on = run.block((statement,))
        except OutOfBudget:
            goes_on, whole = True, False
            repeating.switch(run, modes)  # it may have ended within a context
        left -= before - max(run.steps_left, 0)
        if not goes_on:
            break
    deferring.open_tables(run, unit, namespace)
    run.heap.set(namespace.facts, Fact.EXECUTED, whole)


def imported(run: Run, path: Path) -> Value:
    """What importing a path of the project gives: its globals, or the folder."""
    if path.suffix != ".py":
        return NamespacePackage(path)
    return namespace_at(run, path) or Unknown()
