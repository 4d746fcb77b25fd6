"""The pages of the rules: one for each, and an index by family."""

from __future__ import annotations

import json
import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from torch_doctor import examples
from torch_doctor.report import full
from torch_doctor.report.links import OWN
from torch_doctor.report.paint import Paint
from torch_doctor.report.reported import Look, Reported
from torch_doctor.report.rule_pages import LEVELS, WITNESSES, fix_words
from torch_doctor.rule import Fix, all_rules
from torch_doctor.scan import Options, scan
from torch_doctor.sources.discovery import display

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from torch_doctor.rule import Level, Rule

FAMILIES = {
    "0": "Source files and suppressions",
    "1": "Gradients and optimizer steps",
    "2": "Loss functions",
    "3": "Modules and parameters",
    "4": "Evaluation",
    "5": "Autograd graphs and memory",
    "6": "Checkpoints",
    "7": "Data",
    "8": "Devices, precision and distributed training",
    "9": "Reproducibility and debugging",
}
"""The title of each family, by the first digit of its codes."""
FIXES = {
    Fix.SAFE: ("safe fix", "`--fix` applies the fix"),
    Fix.UNSAFE: ("unsafe fix", "the fix changes behavior on purpose: `--fix --unsafe-fixes` applies it"),
    Fix.NONE: ("no fix", "the finding says what to change; you change it by hand"),
}
"""The text of a fix's badge, and what it means."""
WITNESS = {"S": "static", "P": "runtime"}
"""The badge for each letter of a witness."""
ADDRESS = re.compile(r"(?<!<)https?://\S+")
WIDTH = 88
"""How many characters a line of a finding may have: as many as a page shows on a usual screen."""
RUNTIME_ONLY = (
    "A scan of the source cannot find this bug. `torch-doctor scan --probe` reports it when the script runs into it."
)
"""What the page of a rule with the witness P has in place of a finding."""


def pages() -> Iterator[tuple[str, str]]:
    """Yield the path and the Markdown of the index, and of the page of each rule."""
    rules = [rule for rule in all_rules() if rule.code.startswith(OWN)]
    findings = reported(rules)
    yield "rules/index.md", index(rules)
    for rule in rules:
        yield f"rules/{rule.code}.md", page(rule, findings[rule.code])


def index(rules: Sequence[Rule]) -> str:
    """Return the legend, and a table of rules for each family."""
    lines = [
        "# Rules\n",
        f"torch-doctor has {len(rules)} rules. `torch-doctor rule TDR101` prints the page of a rule in the terminal.\n",
        "| Badge | Meaning |",
        "|---|---|",
        *(f"| {badge(name_of(level))} | {meaning.partition(': ')[2]} |" for level, meaning in LEVELS.items()),
        *(f"| {badge(text)} | {meaning} |" for text, meaning in FIXES.values()),
        *(f"| {witness_badges(witness)} | {meaning.partition(': ')[2]} |" for witness, meaning in WITNESSES.items()),
    ]
    for digit, title in FAMILIES.items():
        lines += [f"\n## {title}\n", "| Rule | What goes wrong |", "|---|---|"]
        lines += [row(rule) for rule in rules if rule.code[len(OWN)] == digit]
    return "\n".join(lines) + "\n"


def row(rule: Rule) -> str:
    """Return the row of a rule in the table of its family."""
    summary = rule.summary().replace("|", "\\|")
    return f"| [{rule.code}<br>{rule.name}]({rule.code}.md) | {summary}<br>{badges(rule)} |"


def page(rule: Rule, finding: str) -> str:
    """Return the page of a rule: badges, the documentation of the rule, the finding for its example, the fix as a diff."""
    summary, *sections = rule.page().split("\n## ")
    family = FAMILIES[rule.code[len(OWN)]]
    anchor = "-".join(family.lower().replace(",", "").split())
    lines = [
        f"---\ntitle: {rule.name} ({rule.code})\ndescription: {json.dumps(rule.summary())}\n---\n",
        f"[Rules](index.md) / [{family}](index.md#{anchor})\n{{ .family }}\n",
        f"# {rule.name} ({rule.code})\n\n{badges(rule)}\n\n{summary.strip()}\n",
    ]
    for section in sections:
        heading, _, text = section.partition("\n")
        if heading == examples.EXAMPLE:
            script = examples.example(rule.page())
            text = f"{numbered(text, script)}\n{folded(script)}\n{shown(finding)}\n"
        elif heading == examples.INSTEAD:
            text = f"{text}\n{folded(examples.instead(rule.page()))}\n{fix_facts(rule)}"
        elif heading == "References":
            text = ADDRESS.sub(r"<\g<0>>", text)
        lines.append(f"## {heading}\n\n{text.strip()}\n")
    return "\n".join(lines)


def fix_facts(rule: Rule) -> str:
    """Return a line on the fix of a rule: whether it is safe, and which figures it may change; empty if there is none."""
    words = fix_words(rule)
    return f"**Fix:** {words}." if words else ""


def shown(finding: str) -> str:
    """Return the part of a page that shows a finding."""
    return f"`torch-doctor scan train.py` reports:\n\n```text\n{finding}\n```" if finding else RUNTIME_ONLY


def numbered(text: str, script: str) -> str:
    """Return the text of "Example" with the line numbers that its block has in the complete script."""
    block = text.partition("```python\n")[2].partition("```")[0]
    first = script.removesuffix(block).count("\n") + 1
    return text.replace("```python\n", f'```python title="train.py" linenums="{first}"\n')


def folded(script: str) -> str:
    """Return a complete script, folded away."""
    lines = f"```python\n{script}```".split("\n")
    return '??? note "The complete script"\n\n' + "".join(f"    {line}".rstrip() + "\n" for line in lines)


def reported(rules: Sequence[Rule]) -> dict[str, str]:
    """Return what a scan reports for the example of each rule, by code; empty where only a run shows the bug."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        for rule in rules:
            (folder / rule.code).mkdir()
            (folder / rule.code / "train.py").write_text(examples.example(rule.page()), encoding="utf-8")
        report = scan(Options(paths=(folder,), rules=tuple(rules)))
    findings = {}
    for rule in rules:
        path = display(folder / rule.code / "train.py")
        own = [each for each in report.findings if (each.code, each.site.path) == (rule.code, path)]
        text = full.render(Reported(own, report.sources), Look(Paint(), WIDTH))
        findings[rule.code] = text.replace(path, "train.py").strip()
    return findings


def badges(rule: Rule) -> str:
    """Return the badges of a rule: its level, its fix, and what can show the bug."""
    return f"{badge(name_of(rule.level))} {badge(FIXES[rule.fix][0])} {witness_badges(rule.witness)}"


def witness_badges(witness: str) -> str:
    """Return a badge for each letter of a witness."""
    return " ".join(badge(WITNESS[letter]) for letter in witness)


def badge(text: str) -> str:
    """Return a badge, whose style is that of the class with its text."""
    return f'<span class="badge {text.replace(" ", "-")}">{text}</span>'


def name_of(level: Level) -> str:
    """Return the name of a level as findings have it."""
    return level.name.lower()
