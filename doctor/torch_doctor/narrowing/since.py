"""Findings since a revision: on lines that have changed, or explained by them, or that were not there before."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import msgspec
from msgspec.structs import replace

from torch_doctor.cache import Storage, digest
from torch_doctor.narrowing.git import repository
from torch_doctor.narrowing.lines import Lines
from torch_doctor.scan.causes import for_all
from torch_doctor.scan.remembering import key_of
from torch_doctor.sources.project import read

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from torch_doctor.rule import Finding
    from torch_doctor.scan import Options, Report
    from torch_doctor.sources.ignores import Patterns
    from torch_doctor.sources.source import SourceFile
    from torch_doctor.trace import Site

Sources: TypeAlias = "Mapping[str, SourceFile]"
Place: TypeAlias = "tuple[str, str, int, int]"
"""The code of a finding, the name that its file had, and the row and column there, over all cells of a notebook."""
PROBE = "probe"


class Since:
    """Reports a finding where its place, or one of its trail, lies on a line that has changed since a revision.

    A finding that lies elsewhere is reported if a scan of the files as they were does not find it: a line is gone, say.
    What only a run shows cannot be looked up there, and has to lie on a line that has changed. `scan` does that scan.
    """

    def __init__(self, options: Options, revision: str, scan: Callable[[Options], Report]) -> None:
        """Ask git what has changed.

        Raises:
            GitError: git cannot tell.
        """
        self._repository = repository(options.paths, revision)
        self._changes = self._repository.changes()
        self._options = options
        self._scan = scan
        self._before: dict[str, SourceFile | None] = {}
        self._lines: dict[str, tuple[SourceFile, Lines]] = {}
        self._found: frozenset[Place] | None = None

    def reported(self, findings: Sequence[Finding], sources: Sources) -> list[tuple[Finding, bool]]:
        """The findings, each with whether it is reported; one that stands for several may be taken apart.

        Raises:
            GitError: the files as they were cannot be checked out.
        """
        self._read(sources.values())
        told: list[tuple[Finding, bool]] = []
        for finding in findings:
            members = finding.members or (finding,)
            news = [self._is_new(member, finding.witness, sources) for member in members]
            if all(news) or not any(news):
                told.append((finding, news[0]))
                continue
            for wanted in (True, False):
                some = [member for member, new in zip(members, news, strict=True) if new is wanted]
                told.append((for_all(some), wanted))
        return told

    def _is_new(self, finding: Finding, witness: str, sources: Sources) -> bool:
        if any(self._has_changed(site, sources) for site in finding.places()):
            return True
        if witness == PROBE or not (self._changes.concern_scans() or self._differ(sources)):
            return False
        if self._found is None:
            self._found = self._remembered()
        source = sources.get(finding.site.path)
        if source is None or self._repository.name(source.path) is None:
            return False
        row = self._lines_of(source).before(source.row_of(finding.site)) or 0
        return (finding.code, self._name(source.path), row, finding.site.column) not in self._found

    def _has_changed(self, site: Site, sources: Sources) -> bool:
        source = sources.get(site.path)
        if source is None or self._repository.name(source.path) is None:
            return False
        first = source.row_of(site)
        return self._lines_of(source).have_changed(range(first, first + site.end_row - site.row + 1))

    def _differ(self, sources: Sources) -> bool:
        """Whether files that git takes for unchanged have changed: in an editor's buffer, or since then by a fix."""
        inside = (source for source in sources.values() if self._repository.name(source.path) is not None)
        return any(self._lines_of(source).differ for source in inside)

    # --- files as they were ---

    def _name(self, path: Path) -> str:
        """The name that a file had in the repository; what lies outside goes by its path."""
        name = self._repository.name(path)
        return str(path) if name is None else self._changes.before.get(name, name)

    def _lines_of(self, source: SourceFile) -> Lines:
        known = self._lines.get(source.display)
        if known is None or known[0] is not source:
            before = self._before.get(self._name(source.path))
            known = source, Lines.of(source.shown, [] if before is None else before.shown)
            self._lines[source.display] = known
        return known[1]

    def _read(self, sources: Iterable[SourceFile]) -> None:
        """Read how files were."""
        missing = {self._name(source.path) for source in sources} - self._before.keys()
        if not missing:
            return
        with tempfile.TemporaryDirectory(prefix="torch-doctor-") as scratch:
            self._repository.check_out(Path(scratch), missing)
            for name in missing:
                path = Path(scratch, name)
                self._before[name] = read(path, name) if path.is_file() else None

    def _remembered(self) -> frozenset[Place]:
        """What a scan finds in the files as they were, kept from the last time where there is a cache."""
        if self._options.cache is None:
            return frozenset(self._found_before())
        storage = Storage(self._options.cache)
        renamed = digest("\0".join(sorted(self._changes.before.values())).encode("utf-8", "surrogateescape")).hex()
        key = f"since {self._repository.base} {renamed} {key_of(self._options)}"
        raw = storage.get(key)
        if raw is not None:
            with contextlib.suppress(msgspec.MsgspecError):
                return frozenset(msgspec.msgpack.decode(raw, type=list[tuple[str, str, int, int]]))
        found = frozenset(self._found_before())
        with contextlib.suppress(UnicodeEncodeError):
            storage.put({key: msgspec.msgpack.encode(sorted(found))})
        return found

    def _found_before(self) -> Iterator[Place]:
        """What a scan finds in the files as they were."""
        with tempfile.TemporaryDirectory(prefix="torch-doctor-") as scratch:
            tree = Tree(Path(os.path.realpath(scratch)))
            top = tree.path(self._repository.top)
            self._repository.check_out(top)
            paths = {tree.path(path) for path in self._options.paths}
            paths |= {top / name for name in self._changes.before.values()}
            there = tuple(sorted(path for path in paths if path.exists()))
            if not there:
                return
            report = self._scan(tree.options(self._options, there))
            for finding in report.findings:
                source = report.sources.get(finding.site.path)
                for member in finding.members or (finding,):
                    if source is not None and source.path.is_relative_to(top):
                        name = source.path.relative_to(top).as_posix()
                        yield member.code, name, source.row_of(member.site), member.site.column


class Tree:
    """A folder in which every path has its like, as below the root of the file system."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def path(self, path: Path) -> Path:
        """The like of an absolute path."""
        real = Path(os.path.realpath(path))
        return self._folder / real.relative_to(real.anchor)

    def options(self, options: Options, paths: tuple[Path, ...]) -> Options:
        """The like of options, for a scan of paths in this folder that only looks at the source."""
        return replace(
            options,
            paths=paths,
            exclude=None if options.exclude is None else tuple(map(self._patterns, options.exclude)),
            extend_exclude=tuple(map(self._patterns, options.extend_exclude)),
            file_ignores=tuple(replace(each, patterns=self._patterns(each.patterns)) for each in options.file_ignores),
            overlay={},
            names={},
            probe=None,
            expected=(),
            cache=None,
            shard=None,
            executor="",
            narrowing=(),
        )

    def _patterns(self, patterns: Patterns) -> Patterns:
        return replace(patterns, base=self.path(patterns.base))
