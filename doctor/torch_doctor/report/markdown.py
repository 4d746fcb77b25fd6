"""A table in Markdown, for the summary of a job of GitHub Actions."""

from __future__ import annotations

import os
import re
from collections import Counter
from typing import TYPE_CHECKING
from urllib.parse import quote

from torch_doctor.report.details import LEVELS
from torch_doctor.report.links import url_of
from torch_doctor.report.reported import from_checkout

if TYPE_CHECKING:
    from torch_doctor.report.reported import Look, Reported
    from torch_doctor.rule import Finding
    from torch_doctor.trace import Site

MOST_ROWS = 1000  # GitHub refuses a summary of more than a megabyte
MEANING = re.compile(r"([\\`*_<>\[\]|~])")


def render(reported: Reported, look: Look) -> str:  # noqa: ARG001 - every format is called alike
    """A heading with the counts, and a row per finding."""
    findings = reported.findings
    lines = [f"### torch-doctor: {_counts(reported)}", ""]
    if findings:
        probed = any(finding.verdict is not None for finding in findings)
        titles = ["Level", "Place", "Rule", "Finding", *(["Probe"] if probed else [])]
        lines += [_row(titles), _row(["---"] * len(titles))]
        lines += [_row(_cells(finding, reported, probed=probed)) for finding in findings[:MOST_ROWS]]
        lines.append("")
    if len(findings) > MOST_ROWS:
        lines += [f"{len(findings) - MOST_ROWS} more are not shown.", ""]
    if reported.incomplete:
        lines += [
            "Not analyzed completely:",
            "",
            *(f"- {_message(f'{each}')}" for each in reported.incomplete[:MOST_ROWS]),
            "",
        ]
    if reported.errors:
        lines += ["Not everything could be checked: the log of this step says why.", ""]
    return "\n".join(lines)


def _counts(reported: Reported) -> str:
    counts = Counter(LEVELS[finding.level] for finding in reported.findings)
    shown = [
        f"{count} {word}{'s' if count > 1 and word != 'advice' else ''}"
        for word in LEVELS.values()
        if (count := counts[word])
    ]
    return ", ".join(shown) or "no findings"


def _cells(finding: Finding, reported: Reported, *, probed: bool) -> list[str]:
    verdict = finding.verdict.value if finding.verdict is not None else ""
    url = url_of(finding.code)
    rule = f"{finding.code if url is None else f'[{finding.code}]({url})'} {finding.name}"
    cells = [LEVELS[finding.level], _link(finding.site, reported), rule, _message(finding.headline)]
    return [*cells, verdict] if probed else cells


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _link(site: Site, reported: Reported) -> str:
    """The place; on GitHub a link to the line in the commit that was scanned."""
    shown, path = _plain(f"{site}"), from_checkout(site.path)
    server, repository, commit = (os.environ.get(f"GITHUB_{what}") for what in ("SERVER_URL", "REPOSITORY", "SHA"))
    if not (server and repository and commit) or os.path.isabs(path):  # noqa: PTH117 - it is a text
        return shown
    line = "" if site.cell is not None else f"#L{reported.row_in_file(site)}"
    return f"[{shown}]({server}/{repository}/blob/{commit}/{quote(path)}{line})"


def _message(text: str) -> str:
    """The text with what it has in backticks as code, and everything else as it stands."""
    parts = " ".join(text.split()).split("`")
    if len(parts) % 2 == 0:  # a backtick without its partner
        return _plain(text)
    return "".join(
        f"`{part.replace('|', chr(92) + '|')}`" if number % 2 else _plain(part) for number, part in enumerate(parts)
    )


def _plain(text: str) -> str:
    """The text with nothing in it that means something in Markdown."""
    return MEANING.sub(r"\\\1", " ".join(text.splitlines()))
