"""No run hears of another, and no arm of a branch of the other: each fixture in another order, and with runs that are ended.

What nobody calls is run in another order, the second arm of each branch is executed before the first, and at some
steps a run is ended, by an error or because its steps are used up. What all other runs are told stays the same.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections import Counter
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from tests import sweep
from tests.marks import fixtures, name_of
from torch_doctor.scan import Options
from torch_doctor.scan.pipeline import Scan
from torch_doctor.static import Failure, FileOrder, Followed, Witness, entry_points, executing, heap, unreached
from torch_doctor.static.budget import OutOfBudget
from torch_doctor.static.imports import Imports
from torch_doctor.static.language import imported_files as importing
from torch_doctor.static.run import Run
from torch_doctor.static.training.unresolved import constructing
from torch_doctor.static.values import joined
from torch_doctor.trace.events import names as naming

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from torch_doctor.sources.project import Project
    from torch_doctor.static import program as p
    from torch_doctor.static.unit import Unit
    from torch_doctor.trace import Event, Trace

    Change = Callable[["Witnessed"], None]

CHUNKS = 32
APART = 100
"""Steps between two that end a run."""
MOST = 4 if sweep.WHOLE else 2
"""Steps of one fixture that end a run; one that has fewer than `APART` is ended half-way."""
ORDER_OF_ARMS = {
    "TDR000/ok_modern_syntax.py": "a call of one of two losses: no test tells which, and the first arm is that of either",
}
"""Fixtures of which something else is told when the second arm is executed first, and why. None may be added."""


class Entry(NamedTuple):
    """Where a run begins: the file, and what of it, nothing for its top level."""

    path: str
    name: str = ""

    def __str__(self) -> str:
        return f"{self.path} {self.name or 'as a script'}"


class EndedByTest(Exception):  # noqa: N818 - it stands for any error of the witness
    """Ends a run."""


class Witnessed:
    """What each run of a project is told; `patch` holds what is changed meanwhile."""

    def __init__(self, subject: Subject, change: Change | None = None) -> None:
        self.entries: dict[int, tuple[Trace, Entry, Run]] = {}
        self.latest: Entry | None = None
        self.forks = False
        self._imported: list[tuple[Trace, int, int]] = []
        with pytest.MonkeyPatch.context() as self.patch:
            self.patch.setattr(executing, "Imports", lambda *_: subject.imports)
            self._listen()
            if change is not None:
                change(self)
            found = list(subject.traces())
        self.failures = [each for each in found if isinstance(each, Failure)]
        own = [self.entries[id(each)] for each in found if id(each) in self.entries]
        self.told = {entry: self._words(trace) for trace, entry, _ in own}

    def of_same_file(self, entry: Entry) -> set[Entry]:
        """The runs that begin in the state that another run left."""
        executors = {id(run) for _, other, run in self.entries.values() if other == entry}
        return {other for _, other, run in self.entries.values() if id(run) in executors}

    def _listen(self) -> None:
        self._note(Run, "run", lambda: "")
        self._note(entry_points, "enter", lambda function: _named(function.node))
        self._note(constructing, "construct", lambda cls: cls.name)
        self._note(entry_points, "method", lambda _, cls, function: f"{cls.name}.{_named(function)}")
        self._note(unreached, "read", lambda calls: f"reads {[call.at for call in calls]}")
        self._hear_forks()
        inner = importing.execute_top

        def execute_top(run: Run, unit: Any, namespace: Any) -> None:
            trace, first = run.trace, run.trace.next
            try:
                inner(run, unit, namespace)
            finally:
                self._imported.append((trace, first, trace.next))

        self.patch.setattr(importing, "execute_top", execute_top)

    def _hear_forks(self) -> None:
        """Whether any branch is executed arm by arm, or states of two arms are joined."""
        fork, merge = Run.fork, heap.Heap.merge

        def forked(run: Run, *args: Any) -> bool:
            self.forks = True
            return fork(run, *args)

        def merged(of: heap.Heap, other: Any, mark: int, symbol: Any = None) -> None:
            self.forks |= symbol is not None
            merge(of, other, mark, symbol)

        self.patch.setattr(Run, "fork", forked)
        self.patch.setattr(heap.Heap, "merge", merged)

    def _note(self, owner: object, name: str, said: Callable[..., str]) -> None:
        inner = getattr(owner, name)

        def noted(run: Run, *args: Any) -> Any:
            entry = Entry(run.main.source.display, said(*args))
            _, self.latest, _ = self.entries.setdefault(id(run.trace), (run.trace, entry, run))
            return inner(run, *args)

        self.patch.setattr(owner, name, noted)

    def _words(self, trace: Trace) -> list[str]:
        """A run's events without the numbers of objects; those of an import are told to the first run that has it."""
        ranges = [(first, end) for at, first, end in self._imported if at is trace]
        own = [event for event in trace.events if not any(first <= event.index < end for first, end in ranges)]
        self.patch.setattr(naming, "_MOST_NAMED", 100)  # whom a list leaves out depends on the order
        names, sites = trace.names(), [branch.site for branch in trace.branches]

        def words(event: Event) -> str:
            guards = sorted(f"{'if' if arm else 'unless'} {sites[number]}" for number, arm in event.guards)
            return " ".join([str(event.site), event.words(names), *guards])

        return [words(event) for event in own]


def _named(function: p.Function) -> str:
    return f"{function.name} in row {function.at[0]}"


class Subject(NamedTuple):
    """A fixture that lies alone, as a user's project would; what is lowered of it is shared by all looks at it."""

    project: Project
    files: list[Path]
    imports: Imports

    def traces(self) -> Iterator[Trace | Failure]:
        """Those of all files, each of which is given what was come to before."""
        witness, before = Witness(self.project), Followed()
        for path in FileOrder(self.files, self.project, self.imports).files:
            if (file := self.project.read(path)) is not None:
                yield from witness.file(file, before)
                before |= witness.followed()
        witness.close()


@contextmanager
def alone(fixture: Path) -> Iterator[list[Subject]]:
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder).resolve() / fixture.name
        if fixture.is_dir():
            shutil.copytree(fixture, copy, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(fixture, copy)
        os.chdir(copy.parent)
        try:
            projects = Scan(Options(paths=(copy,), rules=())).projects()
            yield [Subject(project, files, Imports(project)) for project, files in projects]
        finally:
            os.chdir(before)


# --- what is changed ---


def functions_backwards(witnessed: Witnessed) -> None:
    """Classes come before functions, the last function and the last method before the first."""
    in_order, by_drive = entry_points.in_order, entry_points.by_drive

    def backwards(unit: Unit) -> list[tuple[str, p.Class | None]]:
        waiting = in_order(unit)
        return [*(each for each in waiting if each[1]), *(each for each in waiting[::-1] if not each[1])]

    witnessed.patch.setattr(entry_points, "in_order", backwards)
    witnessed.patch.setattr(entry_points, "by_drive", lambda function: tuple(-part for part in by_drive(function)))


def second_arm_first(witnessed: Witnessed) -> None:
    """The arms of each branch change places, and so do the states that are joined after it."""
    fork, merge = Run.fork, heap.Heap.merge

    def forked(run: Run, arms: Sequence[Any], node: p.Node, symbol: Any) -> bool:
        return fork(run, arms[::-1], node, symbol)

    def merged(self: heap.Heap, other: Any, mark: int, symbol: Any = None) -> None:
        if symbol is None:
            merge(self, other, mark)
            return
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(heap, "joined", lambda key, left, right, symbol: joined(key, right, left, symbol))
            merge(self, other, mark, symbol)

    witnessed.patch.setattr(Run, "fork", forked)
    witnessed.patch.setattr(heap.Heap, "merge", merged)


class End:
    """Ends the run that takes a certain step of the whole scan, and no other.

    What is imported has steps of its own, the same for all who import it: they are not used up.
    """

    def __init__(self, step: float, error: type[Exception] = EndedByTest) -> None:
        self.step = step
        self.error = error
        self.taken = 0
        self.ended: Entry | None = None

    def __call__(self, witnessed: Witnessed) -> None:
        def take(run: Run, left: float) -> None:
            if left == vars(run).get("left", 0) - 1:
                self.taken += 1
                importing_ = self.error is OutOfBudget and run.position.importing
                if self.taken >= self.step and self.ended is None and not importing_:
                    self.ended = witnessed.latest
                    left = -1
                    vars(run)["left"] = left
                    raise self.error
            vars(run)["left"] = left

        witnessed.patch.setattr(Run, "steps_left", property(lambda run: vars(run)["left"], take), raising=False)


# --- what differs ---


def in_another_order(subject: Subject, whole: Witnessed) -> Iterator[str]:
    other = Witnessed(subject, functions_backwards)
    for entry in whole.told.keys() & other.told.keys():
        if whole.told[entry] != other.told[entry]:
            yield _said("functions backwards", entry, whole, other)


LISTED = re.compile(r"[\w`.]+(?:, [\w`.]+)+")
PREPARED = re.compile(r"(?<=\(all, ).+(?=\)$)")


def _unordered(words: str) -> str:
    """What is said, with the names of each list in the order of the alphabet: they come in that of construction."""
    for listed in (PREPARED, LISTED):
        words = listed.sub(lambda found: ", ".join(sorted(found[0].split(", "))), words)
    return words


def with_arms_exchanged(subject: Subject, whole: Witnessed) -> Iterator[str]:
    """Which differences there are, whatever the order of the events, and of what they name: each arm has its own."""
    other = Witnessed(subject, second_arm_first)
    for entry in whole.told.keys() & other.told.keys():
        if sorted(map(_unordered, whole.told[entry])) != sorted(map(_unordered, other.told[entry])):
            yield _said("second arm first", entry, whole, other)


def with_runs_ended(subject: Subject, whole: Witnessed, steps: int) -> Iterator[str]:
    chosen = list(range(APART, steps, APART))[:: max(1, steps // APART // MOST)][:MOST] or [(steps + 1) // 2]
    for number, step in enumerate(chosen, start=steps):
        for error in (EndedByTest, OutOfBudget) if sweep.WHOLE else (EndedByTest, OutOfBudget)[number % 2 :][:1]:
            end = End(step, error)
            other = Witnessed(subject, end)
            if end.ended is None:
                continue
            besides = {end.ended} if end.ended.name else other.of_same_file(end.ended)
            for entry in whole.told.keys() & other.told.keys() - besides:
                if whole.told[entry] != other.told[entry]:
                    yield _said(f"{error.__name__} at step {step}, in {end.ended}", entry, whole, other)


def _said(how: str, entry: Entry, whole: Witnessed, other: Witnessed) -> str:
    before, now = Counter(whole.told[entry]), Counter(other.told[entry])
    lines = [*(f"    no more: {line}" for line in before - now), *(f"    now: {line}" for line in now - before)]
    return "\n".join([f"  {how}: {entry}", *(lines or ["    the events come in another order"])])


def differences(fixture: Path) -> Iterator[str]:
    with alone(fixture) as subjects:
        for subject in subjects:
            counted = End(float("inf"))
            whole = Witnessed(subject, counted)
            exchanged = list(with_arms_exchanged(subject, whole)) if whole.forks else []
            if name_of(fixture) not in ORDER_OF_ARMS:
                yield from exchanged
            elif not exchanged:
                yield "  is told the same in either order of arms now: drop it from ORDER_OF_ARMS"
            if len(whole.told) > 1:
                yield from in_another_order(subject, whole)
                yield from with_runs_ended(subject, whole, counted.taken)


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_no_run_and_no_arm_hears_of_another(chunk: int) -> None:
    found = {name_of(fixture): list(differences(fixture)) for fixture in fixtures()[chunk::CHUNKS]}
    assert not any(found.values()), "\n".join(line for name, lines in found.items() if lines for line in [name, *lines])


@pytest.mark.parametrize("error", [EndedByTest, OutOfBudget])
def test_a_run_is_ended_where_it_should_be(error: type[Exception]) -> None:
    fixture = next(fixture for fixture in fixtures() if name_of(fixture) == "TDR117/ok_own_attribute.py")
    with alone(fixture) as (subject,):
        counted = End(float("inf"))
        whole = Witnessed(subject, counted)
        end = End(counted.taken // 4, error)
        ended = Witnessed(subject, end)
    assert end.ended is not None
    assert len(ended.failures) == (error is EndedByTest)
    assert any("an internal error" in line or "step limit" in line for line in ended.told[end.ended])
    assert ended.told[end.ended] != whole.told[end.ended]
