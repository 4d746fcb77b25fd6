"""Looks at one file as an editor has it: in a process of its own, and never raises."""

from __future__ import annotations

import os
from pathlib import Path  # noqa: TC003 - msgspec reads the annotations
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct, field

from torch_doctor.rule import Finding  # noqa: TC001 - as above
from torch_doctor.scan import Options, scan
from torch_doctor.sources.discovery import display
from torch_doctor.sources.source import SourceFile  # noqa: TC001 - as above

if TYPE_CHECKING:
    from collections.abc import Callable


class SettingsError(Exception):
    """The configuration of a project cannot be used; the message names the file and the key."""


Settings: TypeAlias = "Callable[[Path, bytes], Options]"
"""What a scan of this file alone is asked for, when this is its content; raises SettingsError."""


class Asked(Struct, frozen=True):
    """A file to look at: its absolute path, what the editor shows of it, and the working directory of the scan.

    `mends`: the findings are to say what would mend them, which takes longer.
    """

    path: Path
    raw: bytes
    folder: Path
    mends: bool = False


class Looked(Struct, frozen=True):
    """What there is to say about a file.

    `name` is what sites in it carry, and `sources` are the files of all sites, by what these carry. `settings` says why
    the configuration cannot be used, `errors` what went wrong in torch-doctor itself.
    """

    name: str
    findings: tuple[Finding, ...] = ()
    sources: dict[str, SourceFile] = field(default_factory=dict)
    settings: str = ""
    errors: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def look(asked: Asked, settings: Settings) -> Looked:
    """What there is to say about a file; whatever goes wrong is part of the answer."""
    name = str(asked.path)
    try:
        os.chdir(asked.folder)
        name = display(asked.path)
        options = settings(asked.path, asked.raw)
        report = scan(options)
        if asked.mends and any(finding.edits for finding in report.findings):
            from torch_doctor.mending import harmless  # noqa: PLC0415 - libcst is slow to import

            report = harmless(report, options)
    except SettingsError as error:
        return Looked(name, settings=str(error))
    except Exception as error:  # noqa: BLE001 - the next file is looked at nevertheless
        return Looked(name, errors=(f"internal error while scanning {name}: {type(error).__name__}: {error}",))
    findings = tuple(finding for finding in report.findings if finding.site.path == name)
    sites = [step.site for finding in findings for step in finding.trail]
    sites += [change.site for finding in findings if finding.fix for change in finding.fix.changes]
    named = {name, *(site.path for site in sites)}
    sources = {path: file for path, file in report.sources.items() if path in named}
    return Looked(name, findings, sources, errors=tuple(report.errors), warnings=tuple(report.warnings))
