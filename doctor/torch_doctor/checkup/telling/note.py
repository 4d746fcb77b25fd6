"""The readiness note of a checkup in Markdown: what is known of a training script, what is at risk, what is open."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING

from torch_doctor.checkup.telling.readiness import glance
from torch_doctor.checkup.telling.words import MEANINGS, SAME, counts, grouped, reasons, standing, value
from torch_doctor.report.links import url_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from torch_doctor.checkup.outcome import Checkup, Rung
    from torch_doctor.rule import Finding

GREATEST = 2
"""The risks that stand at the top."""
MEANING = re.compile(r"([\\`*_{}<>\[\]()#|~&!])")
BEGINS_A_LIST = re.compile(r"^(\d*)([-+.)])(?=\s|$)")


def note(checked: Checkup) -> str:
    """The note, in CommonMark with tables, with a line break at its end."""
    return "\n".join(_lines(checked))


def escaped(text: str) -> str:
    """Text on one line in which nothing means anything to Markdown but the backticks around code."""
    parts = " ".join(text.split()).split("`")
    plain = [MEANING.sub(r"\\\1", part) for part in parts[::2]]
    code = [
        f"`{part}`" if part.strip() and "|" not in part else MEANING.sub(r"\\\1", f"`{part}`") for part in parts[1::2]
    ]
    if len(parts) % 2 == 0:
        plain, code = [MEANING.sub(r"\\\1", "`".join(parts))], []
    return _unblocked("".join(one + two for one, two in itertools.zip_longest(plain, code, fillvalue="")))


def _unblocked(plain: str) -> str:
    """The text in which no beginning means a list."""
    return BEGINS_A_LIST.sub(r"\1\\\2", plain)


def _lines(checked: Checkup) -> Iterator[str]:
    arguments = f" with `{' '.join(checked.arguments)}`".replace("\n", " ") if checked.arguments else ""
    yield f"# Readiness of {escaped(checked.script)}"
    yield ""
    yield f"Examined{arguments} on {escaped(checked.device or 'no device')} in {checked.seconds:.0f} s: {counts(checked)}."
    yield ""
    yield "## At a glance"
    yield ""
    risks = list(_risks(checked))
    yield from (f"- **{title}**: {escaped(said)}" for title, said in glance(checked))
    for number, risk in enumerate(risks[:GREATEST], start=1):
        yield f"- **Risk {number}**: {risk.removeprefix('- ')}"
    yield ""
    yield "## Evidence"
    yield ""
    yield from _table(("Rung", "Status", "Result"), [_row(*each) for each in reasons(checked)])
    yield "## Risks"
    yield ""
    yield from risks or ["None."]
    yield ""
    yield "## Open points"
    yield ""
    yield from list(_open(checked)) or ["None."]
    yield ""
    for rung in checked.rungs:
        if rung.name == "receipt" and rung.evidence:
            yield "## Receipt"
            yield ""
            for group, facts in grouped(rung):
                if group:
                    yield from (f"### {escaped(group)}", "")
                rows = [(escaped(fact.label), escaped(value(fact)), escaped(fact.expected)) for fact in facts]
                yield from _table(("What", "Value", "Expected"), rows)
    yield from _contract(checked)


def _row(rung: Rung, reason: str) -> tuple[str, str, str]:
    return escaped(MEANINGS[rung.name].title), rung.status, escaped(reason)


def _risks(checked: Checkup) -> Iterator[str]:
    """What failed, and what the scan found, with what to look at."""
    for rung in checked.rungs:
        if rung.status == "failed":
            then = f" Next: {escaped(rung.next)}." if rung.next else ""
            yield f"- **{escaped(MEANINGS[rung.name].title)}** failed: {escaped(rung.reason)}.{then}"
    yield from (f"- {_finding(each)}" for each in standing(checked.findings))


def _finding(finding: Finding) -> str:
    url = url_of(finding.code)
    code = finding.code if url is None else f"[{finding.code}]({url})"
    verdict = "" if finding.verdict is None else f", {finding.verdict.value}"
    return f"{code} {escaped(finding.name)} at {escaped(str(finding.site))}{verdict}: {escaped(finding.headline)}."


def _open(checked: Checkup) -> Iterator[str]:
    """What nobody knows: rungs that were skipped or have no verdict, and what stood in for the real thing."""
    for rung, reason in reasons(checked):
        if rung.status == "skipped":
            why = f" {SAME}" if reason == SAME else f": {escaped(reason)}"
            yield f"- **{escaped(MEANINGS[rung.name].title)}** was skipped{why}."
        elif rung.status == "shown" and rung.name != "receipt":
            yield f"- **{escaped(MEANINGS[rung.name].title)}** has no verdict: {escaped(rung.reason)}."
    yield from (f"- {escaped(remark)}" for remark in checked.remarks)


def _contract(checked: Checkup) -> Iterator[str]:
    """Text to copy, such as the assertions of the batch contract."""
    for rung in checked.rungs:
        if rung.code:
            fence = "`" * (3 + max((len(each) for each in re.findall(r"`{3,}", rung.code)), default=0))
            yield from (f"## {escaped(MEANINGS[rung.name].title)}: to copy", "", f"{fence}python")
            yield from (*rung.code.rstrip().splitlines(), fence, "")


def _table(titles: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    yield f"| {' | '.join(titles)} |"
    yield f"|{'---|' * len(titles)}"
    yield from (f"| {' | '.join(row)} |" for row in rows)
    yield ""
