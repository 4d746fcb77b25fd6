"""The environment whose libraries a scan reads, from options and configuration."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from torch_doctor.environments import NoInterpreterError, named
from torch_doctor.scan import Environment, usual_folder

if TYPE_CHECKING:
    from torch_doctor.config import LoadedConfig


def environment(python: str | None, loaded: LoadedConfig, *, cache: bool = True) -> Environment | None:
    """Return the environment whose libraries are read; None if the configuration turns that off.

    `python` is the interpreter or environment of `--python`. One that the configuration names need not exist.

    Raises:
        UsageError: there is no such interpreter.
    """
    if python:
        try:
            named(python)
        except NoInterpreterError as error:
            raise click.UsageError(str(error)) from None
    elif not loaded.config.installed_libraries:
        return None
    else:
        python = configured_python(loaded)
        python = python if python and _is_there(python) else ""
    return Environment(python, usual_folder() if cache else None)


def _is_there(python: str) -> bool:
    try:
        named(python)
    except NoInterpreterError:
        return False
    return True


def configured_python(loaded: LoadedConfig) -> str:
    """Return the interpreter or environment that the configuration names, or ""; a path is relative to its file."""
    python = loaded.config.probe.python or ""
    path = loaded.saying("probe.python").base / os.path.expanduser(python)  # noqa: PTH111 - never raises
    return str(path) if python and path.exists() else python
