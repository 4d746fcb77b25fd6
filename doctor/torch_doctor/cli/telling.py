"""Prints what a scan reports in addition to findings: warnings, errors, the last line, applied fixes."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from torch_doctor.cli.streams import wants_colours
from torch_doctor.cli.summary import counted, summary
from torch_doctor.report.paint import Paint

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch_doctor.cli.fixing import Fixing
    from torch_doctor.mending import Mended
    from torch_doctor.scan import Report


def show_outputs(report: Report) -> None:
    """Print what the scripts that were probed printed."""
    for name, output in report.outputs.items():
        click.echo(f"--- output of {name}", err=True)
        click.echo(output, err=True, nl=not output.endswith("\n"))
        click.echo("---", err=True)


def talk(report: Report, *, color: str, verbose: bool, quiet: bool, hints: Sequence[str]) -> None:
    """Print notes (`verbose`), remarks, warnings and errors, then the line that counts the findings.

    `hints` say what to do next.
    """
    colours = wants_colours(color, sys.stderr)
    paint = Paint(colours)
    lines = []
    if verbose:
        lines += [f"{paint('note:', 'bold', 'cyan')} {note}" for note in report.notes]
    if not quiet:
        lines += [f"{paint('probe:', 'bold', 'magenta')} {remark}" for remark in report.remarks]
        lines += [f"{paint('warning:', 'bold', 'yellow')} {warning}" for warning in report.warnings]
    lines += [f"{paint('error:', 'bold', 'red')} {error}" for error in report.errors]
    if not quiet and report.files and (report.findings or not report.errors):
        lines += [f"{paint('probe:', 'bold', 'magenta')} incomplete run: {why}" for why in report.unseen]
        lines.append(summary(report, hints))
    for line in lines:
        click.echo(line, err=True, color=colours)


def tell_mended(mended: Mended, wanted: Fixing, *, errors: bool = True) -> None:
    """Print what was fixed, what was reverted and why, and with `errors` what could not be written."""
    if wanted.shows:
        for finding in mended.findings:
            click.echo(f"{finding.site}: {finding.code} {finding.name}", err=True)
    for line in (*mended.proofs, *mended.withdrawn):
        click.echo(line, err=True)
    for error in mended.errors if errors else ():
        click.echo(f"error: {error}", err=True)
    if mended.findings:
        done = "Would fix" if wanted.diff else "Fixed"
        places = counted(len(mended.after), "file")
        click.echo(f"{done} {counted(len(mended.findings), 'finding')} in {places}.", err=True)
