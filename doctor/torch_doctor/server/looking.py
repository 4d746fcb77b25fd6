"""Looks at one file as an editor has it: in a process of its own, and never raises."""

from __future__ import annotations

import os
from pathlib import Path  # noqa: TC003 - msgspec reads the annotations
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from torch_doctor.edits import Change
from torch_doctor.rule import Finding  # noqa: TC001 - as above
from torch_doctor.scan import Options, scan, traces
from torch_doctor.sources.discovery import display
from torch_doctor.sources.source import SourceFile  # noqa: TC001 - as above
from torch_doctor.sources.suppressing import on_file, on_line
from torch_doctor.trace import Site  # noqa: TC001 - as above

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from torch_doctor.scan import Report
    from torch_doctor.sources.suppressing import Insertion

NOT_SUPPRESSED = frozenset(("TDR000", "TDR001"))
"""No comment makes a file readable, and one that suppresses nothing is rather taken out."""


class SettingsError(Exception):
    """The configuration of a project cannot be used; the message names the file and the key."""


Settings: TypeAlias = "Callable[[Path, bytes], Options]"
"""What a scan of this file alone is asked for, when this is its content; raises SettingsError."""


class Asked(Struct, frozen=True):
    """A file to look at: its absolute path, what the editor shows of it, and the working directory of the scan.

    `mends`: the findings are to say what would mend or silence them, which takes longer. `shapes`: the answer has no findings,
    but the shapes of variables.
    """

    path: Path
    raw: bytes
    folder: Path
    mends: bool = False
    shapes: bool = False


class Ignore(Struct, frozen=True):
    """A comment that silences a finding: what an editor calls it, and the change that writes it."""

    title: str
    change: Change


class Shape(Struct, frozen=True):
    """A variable, attribute or parameter where it gets a tensor, and the shape of that in words."""

    site: Site
    name: str
    text: str


class Looked(Struct, frozen=True):
    """What there is to say about a file.

    `name` is what sites in it carry, and `sources` are the files of all sites, by what these carry. `ignores` are the
    comments that silence each finding. `settings` says why the configuration cannot be used, `errors` what went wrong in
    torch-doctor itself. `settled`: no other answer follows, which says what would mend or silence the findings. `shapes` are those
    of variables, where they were asked for.
    """

    name: str
    findings: tuple[Finding, ...] = ()
    sources: dict[str, SourceFile] = field(default_factory=dict)
    ignores: tuple[tuple[Ignore, ...], ...] = ()
    settings: str = ""
    errors: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    settled: bool = True
    shapes: tuple[Shape, ...] = ()


def look(asked: Asked, settings: Settings) -> Looked:
    """What there is to say about a file; whatever goes wrong is part of the answer."""
    *_, last = answers(asked, settings)
    return last


def answers(asked: Asked, settings: Settings) -> Iterator[Looked]:
    """What there is to say about a file, as soon as it can be said; the last answer is settled, and says all of it."""
    found = Looked(str(asked.path))
    try:
        os.chdir(asked.folder)
        name = display(asked.path)
        found = Looked(name)
        options = settings(asked.path, asked.raw)
        if asked.shapes:
            yield replace(found, shapes=tuple(_shapes(name, options)))
            return
        report = scan(options)
        mends = asked.mends and any(finding.site.path == name for finding in report.findings)
        found = _looked(name, report, settled=not mends)
        yield found
        if mends:
            if any(finding.edits for finding in report.findings):
                from torch_doctor.mending import harmless  # noqa: PLC0415 - libcst is slow to import

                report = harmless(report, options)
            yield _looked(name, report, settled=True, ignores=True)
    except SettingsError as error:
        yield replace(found, settings=str(error))
    except Exception as error:  # noqa: BLE001 - the next file is looked at nevertheless
        line = f"internal error while scanning {found.name}: {type(error).__name__}: {error}"
        yield replace(found, errors=(*found.errors, line), settled=True)


def _shapes(name: str, options: Options) -> Iterator[Shape]:
    """The shapes of the variables of a file."""
    from torch_doctor.report.shapes_text import READS, by_site  # noqa: PLC0415 - only where somebody asks for them

    found, _ = traces(options, wanted=READS)
    for site, shapes in sorted(by_site(found).items(), key=lambda item: item[0][:3]):
        if site.path == name:
            yield Shape(site, shapes.name, str(shapes))


def _looked(name: str, report: Report, *, settled: bool, ignores: bool = False) -> Looked:
    findings = tuple(finding for finding in report.findings if finding.site.path == name)
    sites = [step.site for finding in findings for step in finding.trail]
    sites += [change.site for finding in findings if finding.fix for change in finding.fix.changes]
    named = {name, *(site.path for site in sites)}
    sources = {path: file for path, file in report.sources.items() if path in named}
    return Looked(
        name,
        findings,
        sources,
        tuple(tuple(_ignores(finding, sources.get(name))) for finding in findings) if ignores else (),
        errors=tuple(report.errors),
        warnings=tuple(report.warnings),
        settled=settled,
    )


def _ignores(finding: Finding, file: SourceFile | None) -> Iterator[Ignore]:
    if file is None or finding.code in NOT_SUPPRESSED:
        return
    named = f"{finding.code} {finding.name}"
    line = on_line(finding, file)
    if line is not None:
        yield Ignore(f"Ignore {named} on this line", _change(line, file))
    if finding.site.cell is None:
        yield Ignore(f"Ignore {named} in this file", _change(on_file(finding, file), file))


def _change(insertion: Insertion, file: SourceFile) -> Change:
    """An insertion into the text of the scan as one into the text of the editor, whose rows may be indented."""
    return Change(file.site(insertion.row, insertion.column, insertion.row, insertion.column), insertion.content)
