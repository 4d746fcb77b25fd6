"""`torch-doctor rule`."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import click

from torch_doctor.cli.completing import Completed, rules
from torch_doctor.cli.installed import installed_rules
from torch_doctor.cli.streams import COLOURS, is_terminal, wants_colours, write
from torch_doctor.report.rule_pages import page, record
from torch_doctor.selection import did_you_mean, names_of

if TYPE_CHECKING:
    from torch_doctor.rule import Rule

MARKDOWN = ("markdown", "md")
FORMATS = ("text", "json", *MARKDOWN)


@click.command("rule", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("rule", metavar="CODE|NAME", type=Completed(rules), required=False)
@click.option("--all", "everything", is_flag=True, help="Print the pages of all rules.")
@click.option("--output-format", type=click.Choice(FORMATS), default="text", show_default=True, help="Output format.")
@click.option("--color", type=click.Choice(COLOURS), default="auto", show_default=True, help="When to use colors.")
def command(rule: str | None, everything: bool, output_format: str, color: str) -> None:  # noqa: FBT001 - click's
    """Explain a rule: why it matters, an example, and the fix."""
    if everything == (rule is not None):
        message = "pass the code or the name of one rule, or --all"
        raise click.UsageError(message)
    found = installed_rules() if rule is None else (named(rule),)
    text = "\n".join(map(page, found))
    if output_format == "json":
        records = [record(each) for each in found]
        write(json.dumps(records if everything else records[0], indent=2, ensure_ascii=False) + "\n")
    elif output_format in MARKDOWN:
        write(text)
    elif is_terminal(sys.stdout) or color == "always":
        from rich.console import Console  # noqa: PLC0415 - slow to import
        from rich.markdown import Markdown  # noqa: PLC0415

        colours = wants_colours(color, sys.stdout)
        Console(force_terminal=colours, no_color=not colours, highlight=False).print(Markdown(text))
    else:
        write(text)


def named(name: str) -> Rule:
    """Return the rule with this code or name.

    Raises:
        UsageError: there is no such rule.
    """
    rules = installed_rules()
    for rule in rules:
        if name.upper() == rule.code or name == rule.name:
            return rule
    message = f"unknown rule `{name}`{did_you_mean(name, names_of(rules))}"
    raise click.UsageError(message)
