"""The installed rules, or one clear line that says why they cannot be had."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from torch_doctor.rule import all_rules

if TYPE_CHECKING:
    from torch_doctor.rule import Rule


def installed_rules() -> tuple[Rule, ...]:
    """Every installed rule, by code.

    Raises:
        UsageError: two rules share a code or a name, or a package that offers rules is broken.
    """
    try:
        return all_rules()
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    except Exception as error:
        message = f"a package that offers rules cannot be loaded: {type(error).__name__}: {error}"
        raise click.UsageError(message) from error
