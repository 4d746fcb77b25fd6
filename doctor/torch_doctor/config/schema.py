"""The JSON schema of the configuration, for editors and for validate-pyproject."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec

from torch_doctor.config.keys import Config

SHIPPED = Path(__file__).parent.parent / "torch-doctor.schema.json"
"""The schema as a file, for editors."""


def schema() -> dict[str, Any]:
    """Return the schema of a torch-doctor.toml, which is also that of the table [tool.torch-doctor]."""
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


def of_tool(tool: str) -> dict[str, Any]:  # noqa: ARG001 - validate-pyproject passes the name of the table
    """Return the schema of the table [tool.torch-doctor], for validate-pyproject."""
    return schema()


def _without_null(value: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a key without `null`, which TOML does not have: an optional key is left out instead."""
    kinds = [kind for kind in value.get("anyOf", ()) if kind != {"type": "null"}]
    if not kinds:
        return value
    kept = {name: each for name, each in value.items() if name not in {"anyOf", "default"}}
    return {**kept, **kinds[0]}


def kind(described: dict[str, Any]) -> str:
    """Return the type of a key in words, such as "list of strings"."""
    if "enum" in described:
        return f"one of {', '.join(f'`{each}`' for each in described['enum'])}"
    if described["type"] == "array":
        return f"list of {kind(described['items'])}s"
    if described["type"] == "object":
        return f"table of {kind(described['additionalProperties']).replace('list', 'lists', 1)}"
    return {"boolean": "bool", "string": "string"}[described["type"]]


def in_toml(value: Any) -> str:  # noqa: ANN401 - any value that a key can have
    """Return a value as one line of TOML."""
    if isinstance(value, dict):
        pairs = ", ".join(f"{in_toml(key)} = {in_toml(each)}" for key, each in value.items())
        return f"{{ {pairs} }}" if pairs else "{}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(in_toml, value))}]"
    return json.dumps(value, ensure_ascii=False)
