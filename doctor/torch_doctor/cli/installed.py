"""The installed rules, with a warning for each that cannot be loaded."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from torch_doctor import declared

if TYPE_CHECKING:
    from pathlib import Path

    from torch_doctor.rule import Rule


def installed_rules(cache: Path | None = None, *, keeps: bool = False) -> tuple[Rule, ...]:
    """Return the installed rules, ordered by code. Print a warning for each rule that cannot be loaded.

    A rule whose declaration is in the `cache` folder is imported when it is used; `keeps`: declarations are put there.

    Raises:
        UsageError: there is no rule at all.
    """
    rules, problems = declared.installed_rules(cache, keeps=keeps)
    if not rules:
        message = problems[0] if problems else "no rules are installed; reinstall torch-doctor"
        raise click.UsageError(message)
    for problem in problems:
        click.echo(f"warning: {problem}", err=True)
    return rules
