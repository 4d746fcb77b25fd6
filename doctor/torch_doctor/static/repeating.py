"""What an imported file did: recorded for the run that came to it first, and repeated in the trace of every later one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch_doctor.static.registry import Image
from torch_doctor.static.training.device.autocasting import SWITCH
from torch_doctor.static.values import MISSING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from torch_doctor.static.run import Run

MODES = ("grad", SWITCH)
"""What of a run's state a file may switch for all who import it."""


class Recording:
    """The top level of an imported file under way: where its events begin, and what it came to."""

    __slots__ = ("_asked", "_entered", "_first", "_guards", "_imports", "_known", "_modes", "_scope", "path")

    def __init__(self, run: Run, path: Path) -> None:
        self.path = path
        self._first = run.trace.next
        self._known = len(run.objects.brought)
        self._guards, self._scope = run.position.guards, run.position.scope
        self._imports: dict[Path, None] = {}
        self._entered, run.entered = run.entered, set()
        self._asked = run.imports.begin()
        self._modes = modes(run)
        run.objects.under_way.append(self._imports)

    def image(self, run: Run) -> Image:
        """What was recorded, without the objects."""
        since = list(run.objects.brought)[self._known :]
        elsewhere = set[int]().union(*(numbers for path in since for numbers in run.brought.get(path, ())))
        own = sorted(set(range(self._first, run.trace.next)) - elsewhere)
        events = list(run.trace.at(*own))
        entered, asked = frozenset(run.entered), run.imports.asked()
        changed = {key: value for key, value in modes(run).items() if self._modes.get(key, MISSING) is not value}
        return Image(
            events, run.trace.branches, self._guards, self._scope, list(self._imports), {}, entered, asked, changed
        )

    def put_modes_back(self, run: Run) -> None:
        """Let the modes be as they were before the import: who imports the file switches them."""
        switch(run, self._modes)

    def end(self, run: Run) -> None:
        """Note which events of the run are not its own, and give it back what is."""
        run.objects.under_way.pop()
        run.entered |= self._entered
        run.imports.ask_again(self._asked)
        run.brought.setdefault(self.path, []).append(range(self._first, run.trace.next))


def modes(run: Run) -> dict[object, Any]:
    """The modes that hold now."""
    return {key: run.state.fields[key] for key in MODES if key in run.state.fields}


def switch(run: Run, to: Mapping[object, Any]) -> None:
    """Let these modes hold from here on, on the current path."""
    for key, value in to.items():
        run.heap.set(run.state.fields, key, value)


def begin(run: Run, path: Path) -> Recording:
    """Record what the top level of a file does, beside binding its globals."""
    _note(run, path)
    run.objects.brought[path] = None
    return Recording(run, path)


def _note(run: Run, path: Path) -> None:
    """The file that is being executed imports another, whether or not the run has come to that one before."""
    for imports in run.objects.under_way[-1:]:
        imports[path] = None


def bring(run: Run, path: Path) -> None:
    """Import a file that an earlier run has executed: what it did happens in this run as well, once."""
    _note(run, path)
    if path in run.objects.brought:
        return
    image = run.objects.image(path)
    if image is None:
        return  # it is being executed, and imports what imports it
    run.objects.brought[path] = None
    for inner in image.imports:
        bring(run, inner)
    run.objects.bring(path, image)
    run.entered |= image.entered
    run.imports.ask_again(image.asked)
    trace, numbers = run.trace, dict[int, int]()
    around, scope_now = run.position.guards, run.position.scope
    if run.imports.is_quiet(path):  # it belongs to no path and to no loop
        around, scope_now = frozenset(), scope_now.chain()[0]
    first = trace.next
    for event in image.events:
        own = event.guards - image.guards
        for branch in sorted(branch for branch, _ in own if branch not in numbers):
            numbers[branch] = len(trace.branches)
            trace.branches.append(image.branches[branch])
        guards = around | {(numbers[branch], arm) for branch, arm in own}
        scope = scope_now if event.scope is image.scope else event.scope
        trace.repeat(event, guards=guards, scope=scope)
    switch(run, image.modes)
    run.brought.setdefault(path, []).append(range(first, trace.next))
