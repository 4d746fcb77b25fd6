"""Whose libraries a scan reads: from options and configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from torch_doctor.environments import NoInterpreterError, named
from torch_doctor.scan import Environment, usual_folder

if TYPE_CHECKING:
    from torch_doctor.config import Config


def environment(python: str | None, config: Config, *, cache: bool = True) -> Environment | None:
    """The environment whose libraries are read; None where the configuration says that none are.

    Raises:
        UsageError: the interpreter that was named is not there.
    """
    if python:
        try:
            named(python)
        except NoInterpreterError as error:
            raise click.UsageError(str(error)) from None
    if not config.installed_libraries and not python:
        return None
    return Environment(python or "", usual_folder() if cache else None)
