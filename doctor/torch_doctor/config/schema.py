"""The JSON schema of the settings, for editors and for validate-pyproject."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from torch_doctor.config.keys import Config

SHIPPED = Path(__file__).parent.parent / "torch-doctor.schema.json"
"""The schema as a file, which editors can be pointed at."""


def schema() -> dict[str, Any]:
    """The schema of a torch-doctor.toml, and of the table [tool.torch-doctor]."""
    plain = msgspec.json.decode(msgspec.json.encode(msgspec.json.schema(Config)))  # defaults are tuples, before
    (described,) = plain["$defs"].values()
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "$id": "https://torch-doctor.github.io/torch-doctor/torch-doctor.schema.json",
        "title": "torch-doctor",
        "description": described["description"],
        "type": "object",
        "properties": {key: _without_null(value) for key, value in described["properties"].items()},
        "additionalProperties": False,
    }


def of_tool(tool: str) -> dict[str, Any]:  # noqa: ARG001 - validate-pyproject says which one it asks for
    """The schema of the table [tool.torch-doctor], for validate-pyproject."""
    return schema()


def _without_null(value: dict[str, Any]) -> dict[str, Any]:
    """The schema of a key; TOML has no null, so a key that may be left out is one that is not there."""
    kinds = [kind for kind in value.get("anyOf", ()) if kind != {"type": "null"}]
    if not kinds:
        return value
    kept = {name: each for name, each in value.items() if name not in {"anyOf", "default"}}
    return {**kept, **kinds[0]}
