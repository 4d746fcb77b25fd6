"""The installed rules, and a line for each that cannot be had."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from torch_doctor.rule import all_rules, left_out

if TYPE_CHECKING:
    from torch_doctor.rule import Rule


def installed_rules() -> tuple[Rule, ...]:
    """Every installed rule, by code; what packages offer and is broken is left out, and said in a line each.

    Raises:
        UsageError: there is no rule at all.
    """
    rules, problems = all_rules(), left_out()
    if not rules:
        message = problems[0] if problems else "no rules are installed; reinstall torch-doctor"
        raise click.UsageError(message)
    for problem in problems:
        click.echo(f"warning: {problem}", err=True)
    return rules
