"""`torch-doctor server`."""

from __future__ import annotations

import os
from importlib.util import find_spec
from typing import TYPE_CHECKING

import click
from msgspec import Struct
from msgspec.structs import replace

from torch_doctor.cli.completing import Paths
from torch_doctor.cli.installed import installed_rules
from torch_doctor.cli.libraries import environment
from torch_doctor.cli.settings import Flags, settings
from torch_doctor.server.looking import SettingsError

if TYPE_CHECKING:
    from pathlib import Path

    from torch_doctor.scan import Options

NEEDED = ("pygls", "lsprotocol")


class Finder(Struct, frozen=True):
    """Finds the settings of a file as `scan FILE` does; excluded files are left out."""

    config: str | None = None
    isolated: bool = False
    python: str | None = None

    def __call__(self, path: Path, raw: bytes) -> Options:
        """Return the options of a scan of this file alone, with this content.

        Raises:
            SettingsError: the configuration cannot be used.
        """
        flags = Flags(
            paths=(str(path),),
            config=() if self.config is None else (self.config,),
            isolated=self.isolated,
            force_exclude=True,
        )
        try:
            options, loaded = settings(flags)
            libraries = environment(self.python, loaded)
        except click.UsageError as error:
            raise SettingsError(error.format_message()) from None
        return replace(options, overlay={path: raw}, environment=libraries, jobs=1)


@click.command("server", context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--config", type=Paths(), metavar="PATH", help="Configuration file: a pyproject.toml or torch-doctor.toml."
)
@click.option("--isolated", is_flag=True, help="Ignore all configuration files.")
@click.option(
    "--python", type=Paths(), metavar="PATH", help="Python interpreter or environment whose libraries the scan reads."
)
@click.option(
    "--stdio",
    is_flag=True,
    help="Communicate over stdin and stdout (always the case; accepted for editors that pass it).",
)
def command(config: str | None, python: str | None, *, isolated: bool, stdio: bool) -> int:  # noqa: ARG001 - editors say it
    """Run the language server for editors, on stdin and stdout."""
    if missing := [name for name in NEEDED if find_spec(name) is None]:
        message = f"the language server needs {' and '.join(missing)}: run `pip install 'torch-doctor[server]'`"
        raise click.UsageError(message)
    from torch_doctor.server.serving import serve  # noqa: PLC0415 - only where it can be imported

    config = None if config is None else os.path.abspath(config)  # noqa: PTH100 - links stay as they are
    return 0 if serve(Finder(config, isolated, python), installed_rules()) else 1
