"""Answers questions about the libraries that a project's scripts would import, from their sources."""

from __future__ import annotations

import sys
from functools import cached_property
from typing import TYPE_CHECKING

from msgspec.structs import replace

from torch_doctor.environments import NoInterpreterError
from torch_doctor.static.budget import uncounted
from torch_doctor.static.installed.answers import Answer, answer
from torch_doctor.static.installed.distributions import distribution
from torch_doctor.static.installed.keeping import KeptAnswers
from torch_doctor.static.installed.sources import LibrarySources

if TYPE_CHECKING:
    from pathlib import Path

    from torch_doctor.static.installed.whose import Environment
    from torch_doctor.trace import Tri

_NOTHING = Answer()


class Installed:
    """The libraries of one project's environment; without one, or without torch in it, nothing is known of them."""

    def __init__(self, environment: Environment | None, project: Path) -> None:
        self._environment = environment
        self._project = project
        self._answers: dict[str, Answer] = {}
        self._asked: set[str] = set()

    def begin(self) -> set[str]:
        """What is asked about is counted from here on; what was asked before."""
        before, self._asked = self._asked, set()
        return before

    def names(self) -> set[str]:
        """The names that were asked about since that began."""
        return set(self._asked)

    def ask_again(self, names: set[str]) -> None:
        """Count what was asked at another time."""
        self._asked |= names

    def asked(self) -> frozenset[tuple[str, str]]:
        """The packages that were asked since the run began, and those that they led to, with their versions."""
        packages: set[str] = set()
        for name in self._asked:
            packages |= {name.partition(".")[0], *self._answers.get(name, _NOTHING).asked}
        return frozenset((package, self.version(package)) for package in packages)

    @cached_property
    def _folders(self) -> tuple[Path, ...]:
        if self._environment is None:
            return ()
        from torch_doctor.static.installed.site_packages import libraries_of  # noqa: PLC0415 - where a library is met

        try:
            return libraries_of(self._environment.python, self._project)
        except NoInterpreterError:
            return ()

    @cached_property
    def _library(self) -> LibrarySources:
        return LibrarySources(self._folders)

    @cached_property
    def _kept(self) -> KeptAnswers:
        return KeptAnswers(self._environment.cache if self._environment is not None else None, self.version)

    def version(self, package: str) -> str:
        """The version of a package: "" where its files may change without one, "absent" where it is not there."""
        found = distribution(self._folders, package)
        return found.version if found is not None else "absent"

    def builds(self, name: str) -> Answer | None:
        """What a call of this dotted name builds; None where that is no module, or nobody knows."""
        found = self._of(name)
        return found if found.module is True else None

    def is_module(self, name: str) -> Tri:
        """Whether a call of this dotted name builds a module."""
        return self._of(name).module

    def _of(self, name: str) -> Answer:
        if self._environment is None or "." not in name:
            return _NOTHING
        first = name.partition(".")[0]
        if first in ("torch", "builtins") or first in sys.stdlib_module_names:
            return _NOTHING
        self._asked.add(name)
        if name not in self._answers:
            with uncounted():
                self._answers[name] = self._answer(name)
        return self._answers[name]

    def _answer(self, name: str) -> Answer:
        if distribution(self._folders, name.partition(".")[0]) is None:
            return Answer()
        kept = self._kept.get(name)
        if kept is not None:
            return kept
        library = self._library
        library.begin()
        place = library.find(name)
        found = Answer()
        if place is not None and b"torch" in library.raw(place.path):
            found = answer(library, place)
        found = replace(found, asked={package: self.version(package) for package in sorted(library.packages)})
        library.begin()
        self._kept.put(name, found)
        return found
