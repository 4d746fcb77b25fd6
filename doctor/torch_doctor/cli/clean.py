"""`torch-doctor clean`."""

from __future__ import annotations

from pathlib import Path

import click

from torch_doctor.cache import clean
from torch_doctor.cli.caching import cache_folder
from torch_doctor.cli.completing import Paths
from torch_doctor.config import ConfigError, find


@click.command("clean", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("paths", nargs=-1, type=Paths())
@click.option(
    "--cache-dir", type=Paths(), metavar="PATH", help="Cache folder. [default: .torch_doctor_cache in the project root]"
)
def command(paths: tuple[str, ...], cache_dir: str | None) -> int:
    """Remove the cached results for PATHS (default: the current folder)."""
    places = [Path(path).absolute() for path in paths or (".",)]
    try:
        folder = cache_folder(cache_dir, find(places[0]), places)
    except ConfigError as error:
        raise click.UsageError(str(error)) from None
    try:
        there = clean(folder)
    except OSError as error:
        message = f"{folder} cannot be removed: {error.strerror}"
        raise click.UsageError(message) from None
    click.echo(f"Removed {folder}" if there else f"No cache at {folder}", err=True)
    return 0
