"""A baseline: the known findings of a project, stored without line numbers so that they still match when lines move."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import msgspec
from msgspec import Struct

from torch_doctor.narrowing.functions import Functions
from torch_doctor.scan.causes import for_all
from torch_doctor.sources.discovery import display

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from torch_doctor.rule import Finding, Rule
    from torch_doctor.sources.source import SourceFile

VERSION = 1
Sources: TypeAlias = "Mapping[str, SourceFile]"


class BaselineError(Exception):
    """An unusable baseline; the message is one line that names the file and the reason."""


class Entry(Struct, frozen=True, order=True, forbid_unknown_fields=True, omit_defaults=True):
    """What identifies a finding in a baseline. Findings with equal entries are counted."""

    path: str
    """The file, relative to the baseline's folder, with slashes."""
    code: str
    function: str = ""
    """The qualified name of the enclosing function or class; "" at module level."""
    line: str = ""
    """The text of the line, with each run of white space as one space."""

    def in_words(self) -> str:
        """Return the entry as it is listed: the rule, the file and the line."""
        return f"{self.code} in {self.path}{f': `{self.line}`' if self.line else ''}"


class Counted(Entry, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """An entry as stored, with the number of findings that it stands for."""

    count: int = 1


class _File(Struct, forbid_unknown_fields=True):
    version: int
    findings: list[Counted]


class Baseline:
    """Known findings with their numbers, which filters a report: of equal findings, only those beyond that number are new."""

    def __init__(self, path: Path, entries: Mapping[Entry, int]) -> None:
        self.path = path
        self.entries = Counter(entries)
        self._folder = os.path.realpath(path.parent)
        self._functions: dict[str, tuple[SourceFile, Functions]] = {}

    @classmethod
    def read(cls, path: Path) -> Baseline:
        """Return the baseline in a file.

        Raises:
            BaselineError: the file cannot be read, or is not a baseline.
        """
        try:
            raw = path.read_bytes()
        except FileNotFoundError:
            message = f"the baseline {display(path)} does not exist: create it with --write-baseline"
            raise BaselineError(message) from None
        except OSError as error:
            message = f"the baseline {display(path)} cannot be read: {error.strerror}"
            raise BaselineError(message) from None
        try:
            file = msgspec.json.decode(raw, type=_File)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            message = f"{display(path)} is not a baseline: {error}; delete it and create one with --write-baseline"
            raise BaselineError(message) from None
        if file.version != VERSION:
            message = (
                f"{display(path)} has version {file.version} of the baseline format, not {VERSION}; delete it and create one "
                "with --write-baseline"
            )
            raise BaselineError(message)
        entries: Counter[Entry] = Counter()
        for each in file.findings:
            entries[Entry(each.path, each.code, each.function, each.line)] += each.count
        return cls(path, entries)

    def reported(self, findings: Sequence[Finding], sources: Sources) -> list[tuple[Finding, bool]]:
        """Return the findings, each with whether it is reported; a finding that stands for several may be split."""
        left = Counter(self.entries)
        told: list[tuple[Finding, bool]] = []
        for finding in findings:
            news: list[Finding] = []
            known: list[Finding] = []
            for member in finding.members or (finding,):
                entry = self.entry(member, sources)
                (known if left[entry] > 0 else news).append(member)
                left[entry] -= 1
            if news and known:
                told += [(for_all(news), True), (for_all(known), False)]
            else:
                told.append((finding, bool(news)))
        return told

    def entry(self, finding: Finding, sources: Sources) -> Entry:
        """Return the entry of a finding."""
        source = sources.get(finding.site.path)
        if source is None:
            return Entry(self._name(Path.cwd() / finding.site.path), finding.code)
        row = source.row_of(finding.site)
        line = source.shown[row - 1] if 0 < row <= len(source.shown) else ""
        known = self._functions.get(source.display)
        if known is None or known[0] is not source:
            known = self._functions[source.display] = source, Functions(source)
        return Entry(self._name(source.path), finding.code, known[1].around(row), _text(" ".join(line.split())))

    def counted(self, findings: Iterable[Finding], sources: Sources) -> Counter[Entry]:
        """Return the entries of findings with their numbers; a finding that stands for several has one for each."""
        return Counter(self.entry(member, sources) for each in findings for member in each.members or (each,))

    def gone(self, found: Counter[Entry], paths: Sequence[Path], rules: Iterable[Rule]) -> Counter[Entry]:
        """Return the stale entries: those that a scan of these paths with these rules covers, but did not find."""
        codes = {rule.code for rule in rules}
        missing = self.entries - found
        return Counter(
            {entry: count for entry, count in missing.items() if entry.code in codes and self._covers(paths, entry)}
        )

    def written(self, found: Counter[Entry], paths: Sequence[Path], rules: Iterable[Rule]) -> Baseline:
        """Return the baseline after a scan: entries that the scan did not cover stay if their file exists."""
        gone = self.gone(found, paths, rules)
        kept = (self.entries - gone) | found
        there = {entry: count for entry, count in kept.items() if entry in found or self._path(entry).is_file()}
        return Baseline(self.path, there)

    def text(self) -> str:
        """Return the content of the file: JSON with one line for each entry, sorted, which git can compare and merge."""
        stored = (
            Counted(entry.path, entry.code, entry.function, entry.line, count)
            for entry, count in sorted(self.entries.items())
        )
        lines = ",\n".join(f"    {msgspec.json.encode(each).decode()}" for each in stored)
        return f'{{\n  "version": {VERSION},\n  "findings": [\n{lines}\n  ]\n}}\n'

    def _covers(self, paths: Sequence[Path], entry: Entry) -> bool:
        file = self._path(entry)
        return any(file.is_relative_to(os.path.realpath(path)) for path in paths)

    def _path(self, entry: Entry) -> Path:
        return Path(os.path.realpath(os.path.join(self._folder, entry.path)))  # noqa: PTH118 - it may be absolute

    def _name(self, path: Path) -> str:
        real = os.path.realpath(path)
        try:
            return _text(Path(os.path.relpath(real, self._folder)).as_posix())
        except ValueError:  # another drive
            return _text(Path(real).as_posix())


def _text(text: str) -> str:
    """Return a text that can be written as UTF-8: names of files and notebooks may contain lone surrogates."""
    return text.encode("utf-8", "replace").decode()
