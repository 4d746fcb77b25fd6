"""What a scan says besides its findings: warnings, errors, the last line, what was fixed."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from torch_doctor.cli.streams import wants_colours
from torch_doctor.report.paint import Paint
from torch_doctor.rule import Level, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

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
        lines.append(_summary(report, hints))
    for line in lines:
        click.echo(line, err=True, color=colours)


def _summary(report: Report, hints: Sequence[str]) -> str:
    looked = _count(report.files, "file")
    missed = f", but no training loop was followed in {report.unfollowed} of them" if report.unfollowed else ""
    if missed and report.files == 1:
        missed = ", but its training loop was not followed"
    next_step = "; ".join([*_of_fixes(report), *hints])
    next_step = f"\n{next_step}" if next_step else ""
    if report.unseen:
        next_step += f"\nNot all was seen: {', '.join(report.unseen)}"
    if not report.findings:
        return f"No {'new ' * bool(report.left_out)}findings in {looked}{missed}.{next_step}"
    levels = [
        _count(count, word)
        for level, word in ((Level.ERROR, "error"), (Level.WARNING, "warning"), (Level.ADVICE, "piece of advice"))
        if (count := sum(finding.level is level for finding in report.findings))
    ]
    places = len({finding.site.path for finding in report.findings})
    verdicts = [f"{count} {verdict.value}" for verdict in Verdict if (count := _given(report, verdict))]
    said = f" The probe: {', '.join(verdicts)}." if verdicts else ""
    return f"Found {', '.join(levels)} in {_count(places, 'file')} ({looked} looked at{missed}).{said}{next_step}"


def _of_fixes(report: Report) -> Iterator[str]:
    """Yield how many findings can be fixed, and by which options."""
    safe = sum(finding.fix is not None and finding.fix.safe for finding in report.findings)
    more = sum(finding.fix is not None and not finding.fix.safe for finding in report.findings)
    if safe:
        yield f"{safe} can be fixed with --fix"
    if more:
        yield (
            f"{more}{' more' * bool(safe)} with --unsafe-fixes"
            if safe
            else f"{more} can be fixed with --fix --unsafe-fixes"
        )


def _given(report: Report, verdict: Verdict) -> int:
    return sum(finding.verdict is verdict for finding in report.findings)


def _count(number: int, noun: str) -> str:
    if number == 1:
        return f"1 {noun}"
    return f"{number} {noun.replace('piece', 'pieces') if ' ' in noun else noun + 's'}"


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
        places = _count(len(mended.after), "file")
        click.echo(f"{done} {_count(len(mended.findings), 'finding')} in {places}.", err=True)
