"""Finds and lowers the project files that a script imports; every file is lowered once for all runs."""

from __future__ import annotations

import os
import sys
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

from torch_doctor.static import importing
from torch_doctor.static.budget import OutOfTime, uncounted
from torch_doctor.static.failure import Failure
from torch_doctor.static.installed.environment import Installed
from torch_doctor.static.lowering import lower
from torch_doctor.static.questions import Asked, answer, names
from torch_doctor.static.quiet import LARGE, Quiet
from torch_doctor.static.searching import Search, is_known
from torch_doctor.static.spending import Spending
from torch_doctor.static.unit import Unit
from torch_doctor.trace import Dependencies

if TYPE_CHECKING:
    from torch_doctor.sources.project import Project
    from torch_doctor.static import program as p
    from torch_doctor.static.followed import Defined
    from torch_doctor.static.installed.whose import Environment
    from torch_doctor.static.questions import Question
    from torch_doctor.trace import Versions


class _Reached:
    """The files that a script reads by all its imports, and those that were looked for and are not there.

    `lookups` counts the imports of the project that were considered; `listed` are the paths of both sets.
    """

    __slots__ = ("absent", "listed", "lookups", "read")

    def __init__(self, path: Path) -> None:
        self.read = {str(path)}
        self.absent: set[str] = set()
        self.lookups = 0
        self.listed = frozenset((str(path),)), frozenset[str]()


class Imports:
    """The project's files as units, by path and by the dotted name under which a file imports another.

    `installed` answers for what they import of libraries.
    """

    def __init__(
        self, project: Project, environment: Environment | None = None, spending: Spending | None = None
    ) -> None:
        self._project = project
        self.spending = spending or Spending()
        self.installed = Installed(environment, project.root)
        self._units: dict[Path, Unit | None] = {}
        self._search = Search(project.root)
        self._found: dict[tuple[str, str], Path | None] = {}
        self._edits: dict[Path, bool] = {}
        self._places: dict[tuple[str, str], str] = {}  # the paths of those that were found, as texts
        self._looked: dict[str, set[tuple[str, str]]] = defaultdict(set)  # what each file imports
        self._absent: dict[tuple[str, str], set[str]] = defaultdict(set)  # where that was looked for, and is not
        self._lookups: list[tuple[str, tuple[str, str]]] = []  # in their order: who looked, and for what
        self._reached: dict[Path, _Reached] = {}
        self._large: dict[Path, bool] = {}
        self._asked: set[Question] = set()
        self._answers: dict[Question, list[str]] = {}
        self._pins: set[str] = set()
        self._homes_of: dict[p.Function, str] = {}
        self.taken: set[tuple[Path, str]] = set()  # the names of files that were imported, and may not have been used
        self._quiet = Quiet(self.text, self.find)
        self.characters = 0  # of source that was lowered
        self.failures: list[Failure] = []  # errors of the witness itself, until somebody tells them
        self.sources: dict[tuple[tuple[Path, ...], str], tuple[list[Path], list[Path]]] = {}  # of names, by the files

    def begin(self) -> Asked:
        """What is asked of the project and of libraries from here on is asked by somebody else; what was asked before."""
        before = Asked(self._asked, self.installed.begin(), self._pins)
        self._asked, self._pins = set(), set()
        return before

    def asked(self) -> Asked:
        """What was asked since that began."""
        return Asked(set(self._asked), self.installed.names(), set(self._pins))

    def ask_again(self, asked: Asked) -> None:
        """Note that what was asked at another time matters now as well."""
        self._asked |= asked.questions
        self._pins |= asked.pins
        self.installed.ask_again(asked.installed)

    def dependencies(self, path: Path) -> Dependencies:
        """What a run of the file at `path`, the last that began, depends on."""
        reached = self._reached.setdefault(path, _Reached(path))
        lookups = [key for importer, key in self._lookups[reached.lookups :] if importer in reached.read]
        reached.lookups = len(self._lookups)
        if lookups:
            self._reach(reached, lookups)
        asked, questions = frozenset(name for each in self._asked for name in names(each)), frozenset(self._asked)
        return Dependencies(*reached.listed, asked, self.installed.asked(), frozenset(self._pins), questions)

    def _reach(self, reached: _Reached, lookups: list[tuple[str, str]]) -> None:
        """Follow new imports of the files that a script reads."""
        waiting = lookups
        while waiting:
            key = waiting.pop()
            reached.absent |= self._absent[key]
            found = self._places.get(key)  # None where a run was ended while it looked
            if found is not None and found not in reached.read:
                reached.read.add(found)
                waiting.extend(self._looked[found])
        read = frozenset(reached.read)
        reached.listed = read, frozenset(reached.absent - read)

    def unit(self, path: Path) -> Unit | None:
        """The lowered file; None when there is none or it cannot be read. An error of the witness is among `failures`."""
        if path not in self._units:
            self._units[path] = None
            source = self._project.read(path)
            name = str(path) if source is None else source.display
            try:
                with self.spending.ending(name):
                    tree = self._project.tree(path) if source is not None else None
                    if source is not None and tree is not None:
                        unit = self._units[path] = Unit(source, lower(tree, source.text, self.package(path)))
                        self.characters += len(source.text)
                        self._homes_of.update(dict.fromkeys(unit.defines, str(path)))
            except OutOfTime:
                if self.spending.ends:  # what is over is the time of a file that imports this one
                    del self._units[path]
                    raise
            except RecursionError:
                return None
            except Exception as error:  # noqa: BLE001 - whatever it is, the other files are still looked at
                self.failures.append(Failure(name, error))
        return self._units[path]

    def defined(self, function: p.Function) -> Defined | None:
        """Where a function or a method of a file is defined; None for one within another function."""
        home = self._homes_of.get(function)
        return None if home is None else (home, *function.at[:2])

    def is_large(self, unit: Unit) -> bool:
        """Whether a file is the `__init__.py` of a package of many parts, or of one that has such a package in it."""
        path = unit.source.path
        if path not in self._large:
            self._large[path] = len(unit.parts) >= LARGE
            found = [self.find(path, part.module, part.level) for part in unit.parts]
            inner = [
                each for each in found if each is not None and each.name == path.name and path.parent in each.parents
            ]
            units = (self.unit(each) for each in inner if each != path)
            self._large[path] |= any(each is not None and self.is_large(each) for each in units)
        return self._large[path]

    def is_quiet(self, path: Path) -> bool:
        """Whether a file only defines and binds names, so that it can be executed when one of them is used."""
        return self._quiet.is_quiet(path)

    def loud(self, path: Path) -> tuple[Path, ...]:
        """The files that are executed at once when a file is imported: itself or others, in their order."""
        return self._quiet.loud(path)

    def happens(self, unit: Unit, node: p.Import | p.ImportFrom, name: str = "") -> bool:
        """Whether an import at the top level of a file happens when the file is executed."""
        return self._quiet.happens(unit.source.path, node.module, getattr(node, "level", 0), name)

    def text(self, path: Path) -> str:
        """The text of a project file; none where it cannot be read."""
        source = self._project.read(path)
        return "" if source is None else source.text

    def ask(self, kind: str, *arguments: str) -> list[str]:
        """Ask all of the project a question of this kind; see `questions`."""
        question = (kind, *arguments)
        self._asked.add(question)
        if question not in self._answers:
            with uncounted():
                self._answers[question] = answer(question, self._project)
        return self._answers[question]

    def mentioned_by(self, script: Path, *names: str) -> bool:
        """Whether a script, or a file that it has imported by now, contains one of the identifiers."""
        read = sorted(self.dependencies(script).read)
        return bool(self._project.mentions(names, map(Path, read)))

    def mentioned(self, *names: str) -> bool:
        """Whether any file of the project contains one of the identifiers."""
        return bool(self.ask("mentioned", *names))

    def torch(self, folder: Path) -> Versions:
        """The versions of torch that scripts in a folder may meet."""
        self._pins.add(str(folder))
        return self._project.torch(folder)

    def saved(self) -> frozenset[str]:
        """Patterns of the names of the files that the scripts of the project save."""
        return frozenset(self.ask("saved"))

    def read_whole(self) -> frozenset[str]:
        """Patterns of the paths of the files that the scripts of the project read a whole object from."""
        return frozenset(self.ask("read whole"))

    def find(self, importer: Path, module: str, level: int = 0) -> Path | None:
        """The project file that `import module` means in the file `importer`; None when it is not the project's.

        A package is its `__init__.py`, or its folder where it has none. As when the script is run, its own folder comes
        first, then the folders around it up to the project's root, and there `src` too; a folder that has the name of a library
        and no `__init__.py` is none. A file that edits `sys.path`, itself
        or by what it imports, sees one more folder nearby: the only one that has such a module.
        """
        name = str(importer)
        folder, _, own = name.rpartition(os.sep)
        itself = not level and module.partition(".")[0] == own.partition(".")[0]  # then the search passes it over
        key = (name if itself else folder, "." * level + module)
        looked = self._looked[name]
        if key not in looked:
            self._lookups.append((name, key))
            looked.add(key)
        if key not in self._found:
            self._found[key] = place = self._search.module(name, module, level, self._absent[key])
            if place is not None:
                self._places[key] = str(place)
        found = self._found[key]
        if found is None and not level and self._edits_path(importer):
            return self._nearby(importer, module.split("."), self._absent[key])
        return found

    def package(self, path: Path) -> str:
        """The dotted name of the package that a file lies in, if it is a library's that the tables describe; else ""."""
        return self._search.package(str(path.parent))

    def _edits_path(self, importer: Path) -> bool:
        """Whether a file, or one that it imports by its name alone, speaks of `sys.path`."""
        if importer not in self._edits:
            modules = importing.plain(self._project.code(importer))  # to lower the file takes a hundred times as long
            others = [module for module in modules if module not in sys.stdlib_module_names]
            beside = [self._search.module(str(importer), module, 0, set()) for module in others]
            files = [importer, *(path for path in beside if path is not None and path.suffix == ".py")]
            self._edits[importer] = bool(self._project.mentions(("sys.path",), files))
        return self._edits[importer]

    def _nearby(self, importer: Path, parts: list[str], absent: set[str]) -> Path | None:
        if is_known(parts[0]):
            return None
        root = self._project.root
        top = importer.parent.parent if importer.parent != root else root
        homes = [home for home in map(Path, self.ask("homes", parts[0])) if home == top or top in home.parents]
        found = {path for home in homes if (path := self._search.at(str(home), parts, absent)) is not None} - {importer}
        return found.pop() if len(found) == 1 else None
