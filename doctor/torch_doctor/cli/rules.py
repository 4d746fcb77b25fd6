"""`torch-doctor rules`."""

from __future__ import annotations

import json
import sys

import click

from torch_doctor.cli.installed import installed_rules
from torch_doctor.cli.streams import COLOURS, look_of, write
from torch_doctor.report.rule_pages import markdown_table, record, text_table

FORMATS = ("text", "json", "markdown")


@click.command("rules", context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--output-format", type=click.Choice(FORMATS), default="text", show_default=True, help="Output format.")
@click.option("--color", type=click.Choice(COLOURS), default="auto", show_default=True, help="When to use colors.")
def command(output_format: str, color: str) -> None:
    """List all rules."""
    rules = installed_rules()
    if output_format == "json":
        write(json.dumps([record(rule) for rule in rules], indent=2, ensure_ascii=False) + "\n")
    elif output_format == "markdown":
        write(markdown_table(rules))
    else:
        look = look_of(color, sys.stdout)
        write(text_table(rules, look), colours=look.paint.colours)
