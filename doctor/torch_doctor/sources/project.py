"""The files around the one that is scanned: each is read and parsed once, on demand."""

from __future__ import annotations

import ast
import time
from itertools import islice
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING

from torch_doctor.sources.bounded import Bounded
from torch_doctor.sources.discovery import display, walk
from torch_doctor.sources.ignores import Ignores
from torch_doctor.sources.mentions import Mentions, identifiers
from torch_doctor.sources.older_grammar import read_as_older
from torch_doctor.sources.python import Failure, Unsupported, decode, parse
from torch_doctor.sources.relevance import matters, no_json
from torch_doctor.sources.source import Problem, SourceFile
from torch_doctor.trace.site import Site

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from torch_doctor.trace.versions import Versions

MOST_FILES = 5000
MOST_ENTRIES = 200_000  # a folder of images is no source
LARGEST_PYTHON = 2_000_000
LARGEST_NOTEBOOK = 100_000_000
LARGEST_SEARCHED = 4_000_000
KEPT_BYTES = 64 << 20  # of files as they stand on the disk
KEPT_TEXTS = 30_000_000  # characters
KEPT_TREES = 1_000_000  # characters of source; a tree takes about 35 bytes for each


class Project:
    """Everything below `root` that a witness may look at.

    `overlay` gives the bytes of files that stand elsewhere than on the disk (an editor's buffer on stdin), `names` how
    they are displayed. `torch` are the versions that the user says the project allows. `worked_out` is what somebody has
    worked out of the text of a file alone, by the kind and the file: it holds for as long as the file has this text.
    """

    def __init__(
        self,
        root: Path,
        ignores: Ignores,
        overlay: Mapping[Path, bytes] | None = None,
        names: Mapping[Path, str] | None = None,
        torch: Versions | None = None,
    ) -> None:
        self.root = root
        self.ignores = ignores
        self.overlay = overlay or {}
        self.names = names or {}
        self.seconds = {"read": 0.0, "parse": 0.0}
        self.told = torch
        self.worked_out: dict[tuple[str, Path], list[str]] = {}
        self._pins: dict[Path, Versions] = {}
        self._raw: Bounded[Path, bytes | OSError] = Bounded(
            KEPT_BYTES, lambda raw: 0 if isinstance(raw, OSError) else len(raw)
        )
        self._files: Bounded[Path, SourceFile | None] = Bounded(KEPT_TEXTS, lambda file: len(file.text) if file else 0)
        self._trees: Bounded[Path, tuple[ast.Module, int]] = Bounded(KEPT_TREES, itemgetter(1))
        self._treeless: set[Path] = set()
        self._parsed: set[Path] = set()
        self._problems: dict[Path, list[Problem]] = {}
        self._displayed: dict[str, Path] = {}
        self.folders: list[str] = []  # those that were looked through for Python files
        self.given: frozenset[Path] = frozenset()  # the files of the scan
        self._others: list[Path] | None = None
        self._listing: list[Path] | None = None
        self._visible: dict[Path, bool] = {}
        self._mentions = Mentions(self._searched)

    # --- one file ---

    def raw(self, path: Path) -> bytes:
        """The bytes of a file; of one that is too large, as many as tell that it is.

        Raises:
            OSError: it cannot be read.
        """
        if path in self.overlay:
            return self.overlay[path]
        if path not in self._raw:
            start = time.perf_counter()
            try:
                with path.open("rb") as file:
                    self._raw[path] = file.read(_largest(path) + 1)
            except OSError as error:
                self._raw[path] = error.with_traceback(None)
            self.seconds["read"] += time.perf_counter() - start
        raw = self._raw[path]
        if isinstance(raw, OSError):  # a new one: raising one that is kept keeps what all callers hold
            raise OSError(raw.errno, raw.strerror, raw.filename)
        return raw

    def code(self, path: Path) -> bytes:
        """The bytes of a file; of a notebook, its code; none where it cannot be read."""
        try:
            raw = self.raw(path)
        except OSError:
            return b""
        if not _is_notebook(path):
            return raw
        from torch_doctor.sources.notebook import code_of  # noqa: PLC0415 - few scans meet one

        return code_of(raw)

    def matters(self, path: Path) -> bool:
        """Whether the file mentions a library that we know training of, or is a notebook that may have, and is broken."""
        try:
            return matters(self.raw(path)) or (_is_notebook(path) and no_json(self.raw(path)))
        except OSError:
            return False

    def read(self, path: Path) -> SourceFile | None:
        """The file as text, whatever is wrong with it; None where there is nothing to read."""
        if path not in self._files:
            try:
                raw = self.raw(path)
            except OSError:
                return None
            start = time.perf_counter()
            self._files[path] = file = self._decoded(path, raw)
            if len(raw) > LARGEST_SEARCHED:
                self._raw.pop(path)
            self.seconds["read"] += time.perf_counter() - start
            if file is not None:
                self._displayed[file.display] = path
        return self._files[path]

    def tree(self, path: Path) -> ast.Module | None:
        """The syntax tree of the file; None where it has none. It is kept for a while: do not change it."""
        if path in self._trees:
            return self._trees[path][0]
        file = self.read(path)
        if file is None or path in self._treeless:
            return None
        start = time.perf_counter()
        tree = self._parse(file)
        self.seconds["parse"] += time.perf_counter() - start
        return tree

    def problems(self, path: Path) -> list[Problem]:
        """What cannot be read in the file; nothing is wrong with a template, whose path has fields to fill in."""
        if path not in self._parsed:
            self.tree(path)
            self._parsed.add(path)
        found = self._problems.get(path, [])
        if any("{{" in part for part in path.parts):
            return [Problem(each.site, f"a template: {each.reason}", wrong=False) for each in found]
        return found

    def too_large(self, path: Path) -> bool:
        """Whether the file holds more Python than anybody writes by hand."""
        try:
            size = len(self.raw(path))
        except OSError:
            return False
        return size > _largest(path)

    # --- all files ---

    def python_files(self) -> list[Path]:
        """The Python files and notebooks of the project that are not left out, at most 5000."""
        if self._listing is None:
            start = time.perf_counter()
            walked = walk(self.root, self.ignores, most_entries=MOST_ENTRIES, visited=self.folders)
            self._listing = list(islice(walked, MOST_FILES))
            self.seconds["read"] += time.perf_counter() - start
        return self._listing

    def other_scripts(self) -> list[Path]:
        """Those of them that are no notebooks, and that nobody has given."""
        if self._others is None:
            self._others = [path for path in self.python_files() if path.suffix == ".py" and path not in self.given]
        return self._others

    def mentions(self, names: Sequence[str], among: Iterable[Path]) -> list[Path]:
        """Those of the files that contain one of the identifiers somewhere, in their order."""
        return self._mentions.of(names, among)

    def identifiers(self, path: Path) -> frozenset[bytes]:
        """All identifiers that a file contains, in comments and texts as well."""
        return identifiers(self.code(path))

    def torch(self, folder: Path) -> Versions:
        """The versions of torch that scripts in a folder may meet: those that the user told, else those of the project's pins."""
        if self.told is not None:
            return self.told
        if folder not in self._pins:
            from torch_doctor.sources.pins import pinned  # noqa: PLC0415 - only where a rule asks

            self._pins[folder] = pinned(folder, self.root)
        return self._pins[folder]

    def visible(self, path: Path) -> bool:
        """Whether findings in the file concern this project: it lies within, and is not left out."""
        if path not in self._visible:
            self._visible[path] = not self.ignores.skips_path(path, self.root)
        return self._visible[path]

    def shown_as(self, path: Path) -> str:
        """The name that sites in the file at this very path carry."""
        return self.names.get(path) or display(path)

    def displayed(self, name: str) -> Path:
        """The absolute path of a file from the name that its sites carry."""
        return self._displayed.get(name) or Path.cwd() / name

    def shown(self, path: Path) -> str:
        """The name that sites in a file carry; the file may be named by another way to it, as links make them."""
        if path in self._displayed.values() or path in self.names:
            return self.names.get(path) or display(path)
        same = (known for known in self._displayed.values() if known.name == path.name and _same_file(known, path))
        known = next(same, path)
        return self.names.get(known) or display(known)

    def know(self, paths: Iterable[Path]) -> None:
        """Let `displayed` know these files, although they were not read."""
        for path in paths:
            self._displayed.setdefault(self.shown_as(path), path)

    # --- within ---

    def _searched(self, path: Path) -> bytes:
        """The code of a file, if it is not too large to be searched."""
        try:
            if path not in self._raw and path.stat().st_size > LARGEST_SEARCHED:
                return b""
        except OSError:
            return b""
        return self.code(path)

    def _decoded(self, path: Path, raw: bytes) -> SourceFile | None:
        shown = self.shown_as(path)
        if self.too_large(path):
            return None
        if _is_notebook(path):
            from torch_doctor.sources.notebook import BrokenNotebookError, read_notebook  # noqa: PLC0415 - as below

            try:
                file, problems = read_notebook(path, shown, raw)
            except BrokenNotebookError as error:
                self._treeless.add(path)
                self._problems[path] = [
                    Problem(Site(shown, error.row, error.column, error.row, error.column), str(error))
                ]
                return SourceFile(path, shown, "", (), original=decode(raw, "utf-8")[0])
            self._problems[path] = problems
            return file
        text, failure = decode(raw)
        file = SourceFile(path, shown, text)
        if failure is not None:
            self._treeless.add(path)
            self._note(file, failure)
        return file

    def _parse(self, file: SourceFile) -> ast.Module | None:
        parsed = parse(file.text)
        self._parsed.add(file.path)
        if isinstance(parsed, ast.Module):
            self._trees[file.path] = parsed, len(file.text)
            return parsed
        older = read_as_older(file, parsed.row) if isinstance(parsed, Failure) else None
        self._note(file, parsed, older=older is not None)
        if older is None:
            self._treeless.add(file.path)
            return None
        self._files[file.path], self._trees[file.path] = older[0], (older[1], len(file.text))
        return older[1]

    def _note(self, file: SourceFile, why: Failure | Unsupported, *, older: bool = False) -> None:
        place = (why.row, why.column, why.end_row, why.end_column) if isinstance(why, Failure) else (1, 1, 1, 1)
        problem = Problem(file.site(*place), why.reason, wrong=isinstance(why, Failure), older=older)
        if problem not in self._problems.setdefault(file.path, []):
            self._problems[file.path].append(problem)


def read(path: Path, shown: str) -> SourceFile | None:
    """A file as text that is displayed by this name; None where there is nothing to read."""
    return Project(path.parent, Ignores(frozenset((path.parent,))), names={path: shown}).read(path)


def _same_file(path: Path, other: Path) -> bool:
    try:
        return path.samefile(other)
    except OSError:
        return False


def _largest(path: Path) -> int:
    return LARGEST_NOTEBOOK if _is_notebook(path) else LARGEST_PYTHON


def _is_notebook(path: Path) -> bool:
    return path.suffix == ".ipynb"
