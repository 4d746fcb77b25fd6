"""The JSON schema of the configuration, for editors and for validate-pyproject."""

from __future__ import annotations

import json
import re
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


def described(key: str, entry: str | None = None) -> dict[str, Any]:
    """Return the schema of a key, or of an entry of the table that it is, with the examples of the key."""
    about: dict[str, Any] = schema()["properties"][key]
    return about if entry is None else {**about["additionalProperties"], "examples": about["examples"]}


def kind(about: dict[str, Any]) -> str:
    """Return the type of a key in words, such as "list of strings"."""
    if "enum" in about:
        return f"one of {', '.join(f'`{each}`' for each in about['enum'])}"
    if about["type"] == "array":
        return f"list of {kind(about['items'])}s"
    if about["type"] == "object":
        inner = about["additionalProperties"]
        return "table of levels" if "enum" in inner else f"table of {kind(inner).replace('list', 'lists', 1)}"
    return {"boolean": "bool", "string": "string"}[about["type"]]


def key_in_toml(key: str) -> str:
    """Return a key as TOML, with quotes only if it needs them."""
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else in_toml(key)


def in_toml(value: Any) -> str:  # noqa: ANN401 - any value that a key can have
    """Return a value as one line of TOML."""
    if isinstance(value, dict):
        pairs = ", ".join(f"{key_in_toml(key)} = {in_toml(each)}" for key, each in value.items())
        return f"{{ {pairs} }}" if pairs else "{}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(in_toml, value))}]"
    return json.dumps(value, ensure_ascii=False)
