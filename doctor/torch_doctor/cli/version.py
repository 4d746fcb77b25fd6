"""`torch-doctor version`."""

from __future__ import annotations

import click

from torch_doctor import __version__


@click.command("version")
def command() -> None:
    """Print the version."""
    click.echo(f"torch-doctor {__version__}")
