"""Findings with the source around them, the trail that explains them, and the remedy."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from torch_doctor.report.concise import headline, which
from torch_doctor.report.frame import Underline, frame
from torch_doctor.report.paint import LEVEL_COLOURS
from torch_doctor.report.verdict_words import COLOURS, claims

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.report.reported import Look, Reported
    from torch_doctor.rule import Finding, Step

LEAST_GUTTER = 3


def render(reported: Reported, look: Look) -> str:
    """All findings, with an empty line after each."""
    return "".join(f"{_finding(finding, reported, look)}\n\n" for finding in reported.findings)


def render_verdict(finding: Finding, look: Look) -> str:
    """The verdict of a finding that was shown before, with an empty line after it."""
    if finding.verdict is None:
        return ""
    _, *lines = _verdict(finding, look, LEAST_GUTTER)
    return "\n".join([which(finding, look), *lines]) + "\n\n"


def _finding(finding: Finding, reported: Reported, look: Look) -> str:
    sites = [finding.site, *(step.site for step in finding.trail)]
    gutter = max(LEAST_GUTTER, *(len(str(site.end_row + 2)) for site in sites))
    lines = [headline(finding, look)]
    source = reported.sources.get(finding.site.path)
    if source is not None:
        lines += frame(finding.site, source, look, Underline("^", LEVEL_COLOURS[finding.level], 2), gutter)
    for number, step in enumerate(finding.trail, start=1):
        lines += _step(number, step, reported, look, gutter)
    lines += _verdict(finding, look, gutter)
    if finding.help:
        lines.append(f"{' ' * gutter} {look.paint('|', 'blue')}")
        lines += _note("help: ", finding.help, look, gutter)
    return "\n".join(lines)


def _step(number: int, step: Step, reported: Reported, look: Look, gutter: int) -> list[str]:
    paint = look.paint
    lines = [f"{' ' * gutter} {paint('|', 'blue')}", *_note(f"{number}. ", step.note, look, gutter)]
    lines.append(f"{' ' * gutter}{paint('-->', 'blue')} {step.site}")
    source = reported.sources.get(step.site.path)
    return lines if source is None else lines + frame(step.site, source, look, Underline("-", "cyan", 0), gutter)


def _verdict(finding: Finding, look: Look, gutter: int) -> Iterator[str]:
    """What the probe says, a line for each piece of evidence."""
    if finding.verdict is None:
        return
    first, *others = list(claims(finding)) or [""]
    verdict = finding.verdict.value
    yield f"{' ' * gutter} {look.paint('|', 'blue')}"
    painted = look.paint(verdict, "bold", COLOURS[finding.verdict])
    shown = _note("probe: ", f"{verdict}{f': {first}' if first else ''}", look, gutter)
    yield shown[0].replace(verdict, painted, 1)
    yield from shown[1:]
    for claim in others:
        yield from _note("       ", claim, look, gutter)


def _note(label: str, text: str, look: Look, gutter: int) -> list[str]:
    indent = " " * gutter + " = "
    shown = indent + label + text
    if look.width is not None:
        shown = textwrap.fill(
            shown,
            look.width,
            subsequent_indent=" " * (gutter + 3 + len(label)),
            break_long_words=False,
            break_on_hyphens=False,
        )
    head, tail = shown[: gutter + 3], shown[gutter + 3 :]
    return (look.paint(head, "blue") + look.paint(tail[: len(label)], "bold") + tail[len(label) :]).split("\n")
