"""Render the page of a rule, and tables of rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch_doctor.edits import Figure
from torch_doctor.report.links import url_of
from torch_doctor.report.paint import LEVEL_COLOURS
from torch_doctor.rule import Fix, Level

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch_doctor.report.reported import Look
    from torch_doctor.rule import Rule

LEVELS = {
    Level.ERROR: "error: training or evaluation is wrong",
    Level.WARNING: "warning: slow, fragile or unsafe, but the numbers are right",
    Level.ADVICE: "advice: off by default",
}
WITNESSES = {
    "S": "static: found in the source code",
    "P": "runtime: found by running the script with `--probe`",
    "SP": "static and runtime: found in the source code, confirmed or refuted with `--probe`",
}
LEAST_SUMMARY = 30


def page(rule: Rule) -> str:
    """Return the documentation page in Markdown."""
    facts = f"Level: {LEVELS[rule.level]}  \nWitness: {WITNESSES[rule.witness]}"
    fix = f"  \nFix: {words}" if (words := fix_words(rule)) else ""
    return f"# {rule.name} ({rule.code})\n\n{facts}{fix}\n\n{rule.page()}\n"


def fix_words(rule: Rule) -> str:
    """Return whether the rule's fix is safe and which figures it may change; empty where it has none."""
    if rule.fix is Fix.NONE:
        return ""
    if rule.fix_changes == frozenset(Figure):
        return f"{rule.fix.value}; may change any figure"
    changes = [each.value for each in Figure if each in rule.fix_changes]
    if not changes:
        return f"{rule.fix.value}; no figure that the script reports changes"
    *first, last = changes
    listed = f"{', '.join(first)} and {last}" if first else last
    return f"{rule.fix.value}; may change {listed}, with everything computed from {'them' if first else 'it'}"


def record(rule: Rule) -> dict[str, Any]:
    """Return the JSON record of a rule."""
    return {
        "code": rule.code,
        "name": rule.name,
        "summary": rule.summary(),
        "level": rule.level.value,
        "witness": rule.witness,
        "fix": rule.fix.value,
        "fix_changes": [] if rule.fix is Fix.NONE else sorted(each.value for each in rule.fix_changes),
        "explanation": rule.page(),
        "url": url_of(rule.code),
    }


def markdown_table(rules: Sequence[Rule], *, linked: bool = False) -> str:
    """Return a Markdown table of rules; with `linked`, each code links to its page in the same directory."""
    rows = ["| code | name | what goes wrong | level | witness |", "|---|---|---|---|---|"]
    for rule in rules:
        summary = rule.summary().replace("|", "\\|")
        code = f"[{rule.code}]({rule.code}.md)" if linked else rule.code
        rows.append(f"| {code} | {rule.name} | {summary} | {rule.level.value} | {rule.witness} |")
    return "\n".join(rows) + "\n"


def text_table(rules: Sequence[Rule], look: Look) -> str:
    """Return one line per rule, with summaries truncated to the width of the terminal."""
    paint = look.paint
    width = max((len(rule.name) for rule in rules), default=0)
    lines = []
    for rule in rules:
        summary = rule.summary()
        before = f"{rule.code}  {rule.level.value}  {rule.witness:<2}  {rule.name:<{width}}  "
        room = None if look.width is None else max(look.width - len(before), LEAST_SUMMARY)
        if room is not None and len(summary) > room:
            summary = summary[: room - 1].rstrip() + "…"
        code = paint.linked(rule.code, url_of(rule.code), "bold", LEVEL_COLOURS[rule.level])
        lines.append(f"{code}{before.removeprefix(rule.code)}{summary}\n")
    return "".join(lines)
