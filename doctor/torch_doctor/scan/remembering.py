"""Remembers what scans found out, for as long as everything that it depends on stays as it is."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from torch_doctor.cache import Storage, Tree, digest, look, now, of_code, unchanged
from torch_doctor.packages import stamps
from torch_doctor.rule import Finding  # noqa: TC001 - msgspec reads it
from torch_doctor.scan.options import Incomplete, Report
from torch_doctor.sources.project import read

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from torch_doctor.scan.options import Options
    from torch_doctor.scan.recollecting import Recollection
    from torch_doctor.sources.discovery import Discovered
    from torch_doctor.sources.project import Project

_KNOWLEDGE = "torch_doctor.libraries"  # the entry point of libraries that describe themselves
_VARIABLES = ("VIRTUAL_ENV", "CONDA_PREFIX", "PATH")
"""Environment variables that tell whose libraries are read."""


class Whole(Struct):
    """The report of a scan, and the state in which it was made.

    `installed` are versions of packages, by the root of the project that asked for them; `shown` the files of which the report
    shows lines, by the names that sites carry.
    """

    tree: Tree
    installed: dict[str, list[tuple[str, str]]]
    shown: dict[str, str]
    findings: list[Finding]
    warnings: list[str]
    notes: list[str]
    files: int
    incomplete: list[Incomplete]


class Memory:
    """What is remembered of scans with the same options; without a storage, nothing is."""

    def __init__(self, options: Options, storage: Storage) -> None:
        self._options = options
        self._storage = storage
        self._key = key_of(options)
        self._since = now()
        self._projects: list[Recollection] = []

    def report(self) -> Report | None:
        """The report of the last scan, where nothing has changed since."""
        found = self._whole()
        if found is None:
            return None
        report = Report(findings=found.findings, warnings=found.warnings, notes=found.notes, files=found.files)
        report.incomplete = found.incomplete
        for name, path in found.shown.items():
            file = read(Path(path), name)
            if file is None:
                return None
            report.sources[name] = file
        return report

    def _whole(self) -> Whole | None:
        raw = self._storage.get(f"report {self._key}")
        if raw is None:
            return None
        try:
            found = msgspec.msgpack.decode(raw, type=Whole)
        except msgspec.MsgspecError:
            self._storage.trouble = "an entry is corrupt"
            return None
        if not unchanged(found.tree):
            return None
        if found.installed:
            from torch_doctor.static import Installed  # noqa: PLC0415 - only where libraries were asked about
        for root, packages in found.installed.items():
            installed = Installed(self._options.environment, Path(root))
            if any(installed.version(package) != version for package, version in packages):
                return None
        return found

    def of(self, project: Project, given: Sequence[Path]) -> Recollection:
        """What is remembered of the files of a project."""
        from torch_doctor.scan.recollecting import Recollection  # noqa: PLC0415 - only where something is new

        found = Recollection(
            project, given, self._options, self._storage, f"files {self._key} {digest(os.fsencode(project.root)).hex()}"
        )
        self._projects.append(found)
        return found

    def keep(self, report: Report, looked_at: Discovered, shown: Mapping[str, Path]) -> None:
        """Keep the report, and what it was made of: what the paths led to, and the files of which it shows lines."""
        try:
            self._storage.put(dict(self._entries(report, looked_at, shown)))
        except UnicodeEncodeError:
            self._storage.trouble = "a file name is not valid text"

    def _entries(self, report: Report, looked_at: Discovered, shown: Mapping[str, Path]) -> Iterator[tuple[str, bytes]]:
        for each in self._projects:
            packed = each.packed()
            if packed is not None:
                yield each.key, packed
        if not report.errors and not self._storage.trouble and all(each.complete for each in self._projects):
            installed = {str(each.project.root): sorted(each.installed) for each in self._projects if each.installed}
            lines = {name: str(path) for name, path in shown.items()}
            parts = report.findings, report.warnings, report.notes, report.files, report.incomplete
            whole = Whole(self._tree(looked_at), installed, lines, *parts)
            yield f"report {self._key}", msgspec.msgpack.encode(whole)

    def _tree(self, looked_at: Discovered) -> Tree:
        """All that the scan looked at: a change of it may change the report."""
        from torch_doctor.scan.surroundings import above, settings_in  # noqa: PLC0415 - only where something is new

        files = {*map(str, looked_at.files), *above(self._options.paths)}
        folders = set(looked_at.folders)
        for each in self._projects:
            folders |= each.folders()
            files |= each.files
        for folder in folders:
            files.update(settings_in(folder))
        return look(files, folders, self._since)


def key_of(options: Options) -> str:
    """What stands for the options, the code and everything else that is no file."""
    rules = [(rule.code, rule.level.value) for rule in options.rules], [rule.code for rule in options.hiding]
    packages = frozenset(rule.__module__.partition(".")[0] for rule in (*options.rules, *options.hiding))
    environment = options.environment
    libraries = None if environment is None else (environment.python, [os.environ.get(name) for name in _VARIABLES])
    ignores = [(each.patterns, sorted(each.codes), each.negated) for each in options.file_ignores]
    parts = (
        of_code(packages), rules, sorted(options.quiet), sorted(options.known), str(Path.cwd()), list(map(str, options.paths)),
        options.exclude, options.extend_exclude, options.respect_gitignore, options.force_exclude, ignores,
        options.include, options.named_only,
        options.torch, libraries, options.shard, options.heeds_comments, stamps(_KNOWLEDGE),
    )  # fmt: skip
    return digest(repr(parts).encode("utf-8", "surrogatepass")).hex()
