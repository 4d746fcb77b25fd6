"""Findings with the source around them, the trail that explains them, and the remedy."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from torch_doctor.report.concise import which
from torch_doctor.report.details import help_text
from torch_doctor.report.differences import Difference, differences
from torch_doctor.report.frame import Mark, frame, note
from torch_doctor.report.links import url_of
from torch_doctor.report.paint import LEVEL_COLOURS
from torch_doctor.report.verdict_words import COLOURS, claims
from torch_doctor.rule import Level

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from torch_doctor.report.reported import Look, Reported
    from torch_doctor.rule import Finding

LEAST_GUTTER = 3


def render(reported: Reported, look: Look) -> str:
    """All findings by file, errors before warnings and these before advice, with an empty line after each."""
    lines = with_heading(ordered(reported.findings), lambda finding: [_finding(finding, reported, look), ""], look)
    return "".join(f"{line}\n" for line in lines)


def with_heading(
    findings: Sequence[Finding], lines_of: Callable[[Finding], Iterable[str]], look: Look
) -> Iterator[str]:
    """Yield the lines of findings in order, with a heading before the first that needs another setting."""
    conditional = False
    for finding in findings:
        if finding.condition and not conditional:
            yield look.paint("With other settings", "bold")
            yield ""
        conditional = bool(finding.condition)
        yield from lines_of(finding)


def ordered(findings: Sequence[Finding]) -> list[Finding]:
    """Return the findings file by file, errors first, those that need another setting last; else in the given order."""
    files = {path: number for number, path in enumerate(dict.fromkeys(finding.site.path for finding in findings))}
    levels = list(Level)
    return sorted(findings, key=lambda each: (bool(each.condition), files[each.site.path], levels.index(each.level)))


def render_verdict(finding: Finding, look: Look) -> str:
    """The verdict of a finding that was shown before, with an empty line after it."""
    if finding.verdict is None:
        return ""
    lines = list(_verdict(finding, look, LEAST_GUTTER))
    return "\n".join([which(finding, look), *lines]) + "\n\n"


def _finding(finding: Finding, reported: Reported, look: Look) -> str:
    sites = [finding.site, *(step.site for step in finding.trail)]
    gutter = max(LEAST_GUTTER, *(len(str(site.end_row + 2)) for site in sites))
    lines = _head(finding, look)
    for number, marks in enumerate(_places(finding)):
        site = marks[0].site
        source = reported.sources.get(site.path)
        cell = "" if site.cell is None else f":cell {site.cell}"
        at = "" if number else f":{site.row}:{site.column}"
        lines.append(f"{' ' * gutter}{look.paint('-->', 'blue')} {site.path}{cell}{at}")
        if source is not None:
            lines += frame(marks, source, look, gutter)
        elif number:
            lines += [line for mark in marks for line in note("", f"{mark.site}: {mark.label}", look, gutter)]
    if finding.condition:
        lines += note("only: ", finding.condition, look, gutter)
    lines += _verdict(finding, look, gutter)
    lines += _remedy(finding, reported, look, gutter)
    return "\n".join(lines)


def _head(finding: Finding, look: Look) -> list[str]:
    """Level, rule and message, in as many lines as they need."""
    opening = f"{finding.level.name.lower()}[{finding.code}]"
    text = f"{opening} {finding.name}: {finding.message}"
    if look.width is not None:
        text = textwrap.fill(text, look.width, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
    return text.replace(opening, level_and_code(finding, look), 1).split("\n")


def level_and_code(finding: Finding, look: Look) -> str:
    """Return level and code in colour, such as `error[TDR101]`."""
    colour = LEVEL_COLOURS[finding.level]
    code = look.paint.linked(finding.code, url_of(finding.code), "bold", colour)
    return f"{look.paint(finding.level.name.lower(), 'bold', colour)}[{code}]"


def _places(finding: Finding) -> Iterator[list[Mark]]:
    """The place of a finding and those of its trail, by file and cell; each step of a trail has its number."""
    marks = [Mark(finding.site, "^", LEVEL_COLOURS[finding.level], 1)]
    several = len(finding.trail) > 1
    for number, step in enumerate(finding.trail, start=1):
        marks.append(Mark(step.site, "-", "cyan", 0, f"{number}. {step.note}" if several else step.note))
    for where in dict.fromkeys((mark.site.path, mark.site.cell) for mark in marks):
        yield [mark for mark in marks if (mark.site.path, mark.site.cell) == where]


def _verdict(finding: Finding, look: Look, gutter: int) -> Iterator[str]:
    """What the probe says, a line for each piece of evidence."""
    if finding.verdict is None:
        return
    first, *others = list(claims(finding)) or [""]
    verdict = finding.verdict.value
    painted = look.paint(verdict, "bold", COLOURS[finding.verdict])
    shown = note("probe: ", f"{verdict}{f': {first}' if first else ''}", look, gutter)
    yield shown[0].replace(verdict, painted, 1)
    yield from shown[1:]
    for claim in others:
        yield from note("       ", claim, look, gutter)


def _remedy(finding: Finding, reported: Reported, look: Look, gutter: int) -> Iterator[str]:
    """Yield the help, the options that apply the fix, and a small diff of it."""
    if text := help_text(finding):
        yield from note("help: ", text, look, gutter)
    if finding.fix is None:
        return
    changes = list(differences(finding.fix, reported))
    brief = any(
        len(after) > _indented(before, after) or not _indented(before, after) for _, _, before, after in changes
    )
    for path in dict.fromkeys(path for path, *_ in changes):
        if path != finding.site.path:
            yield f"{' ' * gutter}{look.paint('-->', 'blue')} {path}"
        yield from _rows([change for change in changes if change[0] == path], look, gutter, brief=brief)


def _rows(changes: Sequence[Difference], look: Look, gutter: int, *, brief: bool) -> Iterator[str]:
    """The rows that a fix changes in one file; `brief`: not those of which it changes nothing but the indentation."""
    indented: list[int] = []
    for _, row, before, after in changes:
        kept = _indented(before, after) if brief else 0
        indented += range(row, row + kept)
        for sign, rows, colour in (("-", before, "red"), ("+", after, "green")):
            for number, text in enumerate(rows[: len(rows) - kept], start=row):
                yield look.paint(f"{number:>{gutter}} {sign} {text}".rstrip(), colour)
    if indented:
        where = f"line {indented[0]}" if len(indented) == 1 else f"lines {indented[0]}-{indented[-1]}"
        yield from note("", f"{where}: only the indentation changes", look, gutter)


def _indented(before: list[str], after: list[str]) -> int:
    """How many rows there are before, where all of them are the last ones afterwards, with another indentation."""
    last = after[len(after) - len(before) :] if 0 < len(before) <= len(after) else []
    same = [row.lstrip() for row in before] == [row.lstrip() for row in last] and before != last
    return len(before) if same else 0
