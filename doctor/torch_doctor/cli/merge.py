"""`torch-doctor merge`."""

from __future__ import annotations

from pathlib import Path

import click

from torch_doctor.cli.completing import Paths
from torch_doctor.cli.streams import write, write_file
from torch_doctor.report.merging import UnmergeableError, merged


@click.command("merge", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("files", nargs=-1, required=True, type=Paths())
@click.option(
    "-o", "--output-file", type=Paths(), metavar="PATH", help="Write the merged report to PATH instead of stdout."
)
def command(files: tuple[str, ...], output_file: str | None) -> int:
    """Merge the JSON, JSON Lines or SARIF reports of a sharded scan.

    The result is identical to the report of a complete scan.
    """
    try:
        text = merged([(name, _text(name)) for name in files])
    except UnmergeableError as error:
        raise click.UsageError(str(error)) from None
    if output_file:
        write_file(Path(output_file), text)
    else:
        write(text)
    return 0


def _text(name: str) -> str:
    try:
        return Path(name).read_text(encoding="utf-8")
    except OSError as error:
        message = f"{name} cannot be read: {error.strerror}"
    except UnicodeDecodeError:
        message = f"{name} is not UTF-8"
    raise click.UsageError(message)
