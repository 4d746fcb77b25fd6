"""`torch-doctor config`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from torch_doctor.cli.completing import Completed, keys
from torch_doctor.cli.streams import write
from torch_doctor.config.schema import documented, in_toml, kind, schema
from torch_doctor.selection import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterator

PROBE = "probe"
"""The key that is a table of keys, which are listed with its name in front."""


@click.command("config", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("key", required=False, type=Completed(keys))
@click.option(
    "--output-format", type=click.Choice(("text", "json")), default="text", show_default=True, help="Output format."
)
@click.option("--schema", "as_schema", is_flag=True, help="Print the JSON schema of the configuration.")
def command(key: str | None, output_format: str, *, as_schema: bool) -> None:
    """List the configuration keys, or explain one: its purpose, type, default and an example."""
    if as_schema:
        write(json.dumps(schema(), indent=2, ensure_ascii=False) + "\n")
        return
    properties = documented()
    if key == PROBE:
        properties, key = {name: each for name, each in properties.items() if name.startswith(f"{PROBE}.")}, None
    if key is not None and key not in properties:
        message = f"unknown configuration key `{key}`{did_you_mean(key, properties)}"
        raise click.UsageError(message)
    if output_format == "json":
        shown = {name: _record(each) for name, each in properties.items()}
        write(json.dumps(shown if key is None else shown[key], indent=2, ensure_ascii=False) + "\n")
    elif key is None:
        write("".join(f"{name}\n" for name in properties))
    else:
        write("".join(f"{line}\n" for line in _page(key, _record(properties[key]))))


def _record(described: dict[str, Any]) -> dict[str, Any]:
    """Return the description of a key; a default of None means that there is none."""
    return {
        "doc": described["description"],
        "default": described.get("default"),
        "type": kind(described),
        "example": described["examples"][0],
    }


def _page(key: str, record: dict[str, Any]) -> Iterator[str]:
    yield record["doc"]
    yield ""
    yield f"Type: {record['type']}"
    yield f"Default: {'none' if record['default'] is None else in_toml(record['default'])}"
    yield "Example:"
    yield ""
    table, dot, name = key.rpartition(".")
    yield f"[tool.torch-doctor{dot}{table}]"
    yield f"{name} = {in_toml(record['example'])}"
