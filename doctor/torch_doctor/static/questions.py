"""What a run asks of the rest of the project: each question is a value, so that it can be asked again when files have changed."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from torch_doctor.static import own_reads, saves, whole_reads

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from torch_doctor.sources.project import Project

Question: TypeAlias = tuple[str, ...]
"""Its kind and its arguments."""
LISTING = ""
"""Stands for the names of all files among the identifiers that a question is about."""


class Asked(NamedTuple):
    """What was asked of the rest of the project, and of installed libraries.

    `pins` are the folders of which somebody wanted to know which versions of torch their scripts may meet.
    """

    questions: set[Question]
    installed: set[str]
    pins: set[str]

    def add(self, other: Asked) -> None:
        """Note that others asked as well."""
        self.questions.update(other.questions)
        self.installed.update(other.installed)
        self.pins.update(other.pins)


class Kind(NamedTuple):
    """The questions of one kind: the identifiers that they are about, and how they are answered.

    Only files that contain one of the identifiers matter.
    """

    names: Callable[..., tuple[str, ...]]
    answer: Callable[..., list[str]]


KINDS: dict[str, Kind] = {}
"""By their names; the modules that ask add theirs."""


def names(question: Question) -> tuple[str, ...]:
    """The identifiers that a question is about."""
    kind, *arguments = question
    return KINDS[kind].names(*arguments)


def answer(question: Question, project: Project) -> list[str]:
    """What the project answers."""
    kind, *arguments = question
    return KINDS[kind].answer(project, *arguments)


def texts(project: Project, name: str, besides: str = "") -> Iterator[str]:
    """The texts of the project's files, but one, that contain an identifier."""
    for path in project.mentions((name,), project.python_files()):
        source = project.read(path) if str(path) != besides else None
        if source is not None:
            yield source.text


def yes(*, holds: bool) -> list[str]:
    """The answer to a question that is one of yes and no."""
    return ["yes"] if holds else []


def _mentioned(project: Project, *identifiers: str) -> list[str]:
    return yes(holds=bool(project.mentions(identifiers, project.python_files())))


def _homes(project: Project, name: str) -> list[str]:
    """The folders that have a module or a package of this name."""
    root, homes = str(project.root), set[str]()
    for path in map(str, project.python_files()):  # as texts: a `Path` is slow to take apart
        if name not in path:
            continue
        inner, suffix = os.path.splitext(path)  # noqa: PTH122
        here = inner if suffix == ".py" else path
        while len(here) > len(root) and here.startswith(root):
            here, _, last = here.rpartition(os.sep)
            if last == name:
                homes.add(here)  # a folder is a package as well
    return sorted(homes)


def _own_read(project: Project, file: str, row: str) -> list[str]:
    return yes(holds=own_reads.is_own_read(project, file, row))


KINDS.update(
    {
        "mentioned": Kind(lambda *identifiers: identifiers, _mentioned),
        "homes": Kind(lambda _: (LISTING,), _homes),
        "own read": Kind(lambda *_: (whole_reads.LOAD, own_reads.SAVE), _own_read),
        "read whole": Kind(lambda: (whole_reads.LOAD,), lambda project: sorted(whole_reads.read_whole(project))),
        "saved": Kind(lambda: tuple(sorted(saves.NAMES)), lambda project: sorted(saves.saved(project))),
    }
)
