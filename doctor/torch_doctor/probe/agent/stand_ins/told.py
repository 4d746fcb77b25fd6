"""Tells each stand-in once."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from ..handed import may_be_made

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import FrameType

# What a stand-in makes meaningless; a rule whose verdict rests on one of these is undecided.
VALUES = "values"  # inputs and targets are random
TYPES = "types"  # of what type the columns of a table are is made up
SHAPES = "shapes"  # the form of batches, and shapes and types in them, are made to fit
BATCHES = "batches"  # the parts of a batch say nothing of each other
WEIGHTS = "weights"  # pretrained weights are random
DEVICE = "device"  # moves to a GPU did nothing
PRECISION = "precision"  # autocast for a GPU computes in float32
WORKERS = "workers"  # the loader's workers did not run
PROCESSES = "processes"  # what would run in other processes ran here, or one rank instead of many
ARGUMENTS = "arguments"  # values of command line arguments were made up
CHOICES = (
    "choices"  # settings, or several words, were made up that may decide what the script does, and may not go together
)
TESTS = "tests"  # the script tested what was made up, and might have gone another way
VERSION = "version"  # what an older version of a library did is done in its place, as far as that is known
LOG = "log"  # what was logged or plotted is nowhere
FILES = "files"  # the contents of a file are made up
INSIDE = "inside"  # what a layer, a model or a loss computes is made up
BASES = "bases"  # what a class of the script inherits is made up
RATES = "rates"  # a schedule changes no rate
OPTIMIZER = "optimizer"  # what an optimizer does beside its step is made up
ACTIONS = "actions"  # what a function does to a model or an optimizer that it is given is left out
TIME = "time"  # sleeps are shortened
COMPILE = "compile"  # what would be compiled runs as it is written

PATH = "made-up"
"""What a placeholder is where a path, or a part of one, is asked for."""


class Asked(SystemExit):
    """The script cannot start without something that only its user knows; it was told before this is raised."""

    def __init__(self) -> None:
        super().__init__(2)


class Teller:
    """Writes protocol lines through `tell`, each stand-in and each missing thing once.

    `voided` are the facts that the stand-ins so far make meaningless.
    """

    def __init__(self, tell: Callable[..., None]) -> None:
        self._tell = tell
        self._told: set[tuple[str, str]] = set()
        self._sent: dict[str, set[str]] = {}
        self._holding: set[str] = set()  # the folders of files that were made up
        self.voided: set[str] = set()

    def stand_in(self, what: str, for_: str, how: str, voids: Sequence[str] = ()) -> None:
        """Tells that something stands in for `what`.

        Args:
            what: the thing as the user wrote it or torch calls it (`torchvision.datasets.MNIST`).
            for_: why it is stood in for (`data that is not there`).
            how: what is there instead (`60000 synthetic rows 1×28×28, 10 classes`).
            voids: the facts that this makes meaningless, of the words of this module.
        """
        self.voided.update(voids)
        if FILES in voids:
            self._holding.add(os.path.dirname(os.path.abspath(what)))
        if not self._sent.setdefault(what, set()).issuperset(voids) or self._first("stand_in", what):
            self._sent[what].update(voids)
            self._tell("stand_in", what=what, for_=for_, how=how, voids=list(voids))

    def folder(self, folder: str, what: str, place: int) -> None:
        """Report that the script writes a `what` ("file", "folder") below a folder of the project that nobody created.

        `place` is the position of the path among the arguments of the user's call; -1 where a library is given it. A folder
        with a file that was made up would be there with that file; one that a placeholder names is not the script's, and
        one that a placeholder was given might have been made by what it stands for.
        """
        whole = os.path.abspath(folder)
        if PATH in whole.split(os.sep) or may_be_made(whole):
            return
        if any(each == whole or each.startswith(whole + os.sep) for each in self._holding):
            return
        if self._first("folder", folder):
            self._tell("folder", folder=folder, what=what, place=place)

    def left_out(self, exception: str, frames: Sequence[FrameType], values: dict[str, Any]) -> None:
        """Tells, for a next attempt, what a statement failed on that was left out; `frames` are the user's, the outermost first."""
        places = [[each.f_code.co_filename, each.f_lineno, each.f_code.co_name] for each in frames]
        self._tell("left_out", exception=exception, places=places, values=values)

    def broken(self, path: str, rows: Sequence[int]) -> None:
        """Tells that a statement was left out in the loops that begin at these lines."""
        if rows and self._first("broken", f"{path}:{rows}"):
            self._tell("broken", path=path, rows=rows)

    def interposed(self, path: str, row: int) -> None:
        """Tells that the statement that was left out here might have put hooks or other methods in place."""
        if self._first("interposed", f"{path}:{row}"):
            self._tell("interposed", path=path, rows=[row])

    def missing(self, what: str, text: str) -> None:
        """Tells that `what` is not there and plays a part, and what to do (`text`: one clear line)."""
        if self._first("missing", what):
            self._tell("missing", what=what, text=text)

    def asked(self, text: str, missing: Sequence[dict[str, str]]) -> Asked:
        """Tells which arguments only the user knows (each `name`, `kind`, `help`); returns the exception to raise."""
        self._tell("asked", text=text, missing=list(missing))
        return Asked()

    def note(self, text: str) -> None:
        """Tells something once that is no stand-in."""
        if self._first("note", text):
            self._tell("note", text=text)

    def _first(self, kind: str, what: str) -> bool:
        first = (kind, what) not in self._told
        self._told.add((kind, what))
        return first
