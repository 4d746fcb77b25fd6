"""`torch-doctor rule`."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import click

from torch_doctor.cli.installed import installed_rules
from torch_doctor.cli.streams import COLOURS, is_terminal, wants_colours, write
from torch_doctor.report.rule_pages import page, record
from torch_doctor.selection import did_you_mean, names_of

if TYPE_CHECKING:
    from torch_doctor.rule import Rule


@click.command("rule", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("rule", metavar="CODE|NAME")
@click.option("--output-format", type=click.Choice(("text", "json")), default="text", help="A page to read, or JSON.")
@click.option("--color", type=click.Choice(COLOURS), default="auto", help="Whether to use colours.")
def command(rule: str, output_format: str, color: str) -> None:
    """Explain a rule: why it is a bug, an example, what to do instead."""
    found = named(rule)
    if output_format == "json":
        write(json.dumps(record(found), indent=2, ensure_ascii=False) + "\n")
    elif is_terminal(sys.stdout) or color == "always":
        from rich.console import Console  # noqa: PLC0415 - slow to import
        from rich.markdown import Markdown  # noqa: PLC0415

        colours = wants_colours(color, sys.stdout)
        Console(force_terminal=colours, no_color=not colours, highlight=False).print(Markdown(page(found)))
    else:
        write(page(found))


def named(name: str) -> Rule:
    """The rule with this code or name.

    Raises:
        UsageError: there is none.
    """
    rules = installed_rules()
    for rule in rules:
        if name.upper() == rule.code or name == rule.name:
            return rule
    message = f"no rule is called `{name}`{did_you_mean(name, names_of(rules))}"
    raise click.UsageError(message)
