"""The JSON schema of the configuration, for editors and for validate-pyproject."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import msgspec

from torch_doctor.config.keys import PROBE_KEYS, Config
from torch_doctor.report.formats import FORMATS
from torch_doctor.rule import all_rules
from torch_doctor.selection import ALL

SHIPPED = Path(__file__).parent.parent / "torch-doctor.schema.json"
"""The schema as a file, for editors."""
SELECTING = frozenset(
    ("select", "ignore", "extend-select", "fixable", "unfixable", "extend-safe-fixes", "extend-unsafe-fixes")
)
"""Keys that are lists of selectors."""
SELECTOR, LEVEL = ({"$ref": f"#/definitions/{name}"} for name in ("selector", "level"))
OTHER_PACKS = "^(?!TDR)[A-Z]+[0-9]+$"
"""Codes of rules in packages that need not be installed where the schema is used."""


def schema() -> dict[str, Any]:
    """Return the schema of a torch-doctor.toml, which is also that of the table [tool.torch-doctor].

    It lists the codes, names and prefixes of all installed rules, and the output formats, so that editors complete them.
    """
    known = selectors()
    keys = properties()
    for key, about in keys.items():
        if key in SELECTING:
            about["items"] = SELECTOR
        elif key.endswith("per-file-ignores"):
            about["additionalProperties"]["items"] = SELECTOR
    keys["output-format"]["anyOf"] = [{"enum": list(FORMATS)}, {"pattern": f"^({'|'.join(FORMATS)}):."}]
    level = keys["levels"].pop("additionalProperties")
    keys["levels"] |= {"properties": dict.fromkeys(known, LEVEL), "patternProperties": {OTHER_PACKS: LEVEL}}
    keys["levels"]["additionalProperties"] = False
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "$id": "https://torch-doctor.github.io/torch-doctor/torch-doctor.schema.json",
        "title": "torch-doctor",
        "description": Config.__doc__,
        "type": "object",
        "properties": keys,
        "additionalProperties": False,
        "definitions": {"selector": {"anyOf": [{"enum": known}, {"type": "string", "pattern": OTHER_PACKS}]}, "level": level},
    }  # fmt: skip


def selectors() -> list[str]:
    """Return every selector of an installed rule: `ALL`, prefixes, codes and names."""
    codes = [rule.code for rule in all_rules()]
    letters = [len(code.rstrip("0123456789")) for code in codes]
    prefixes = {code[:end] for code, start in zip(codes, letters, strict=True) for end in range(start, len(code))}
    return [ALL, *sorted(prefixes), *codes, *(rule.name for rule in all_rules())]


def properties() -> dict[str, Any]:
    """Return the schema of each key in a file, without the names of rules."""
    plain = msgspec.json.decode(msgspec.json.encode(msgspec.json.schema(Config)))  # defaults are tuples, before
    keys, probe = (
        {key: _plain(each) for key, each in plain["$defs"][name]["properties"].items()} for name in ("Config", "Probe")
    )
    keys["probe"] |= {"type": "object", "properties": probe, "additionalProperties": False, "default": {}}
    return keys  # fmt: skip


def documented() -> dict[str, Any]:
    """Return the schema of each key that has a value of its own, those of the table `probe` as `probe.time`."""
    keys = properties()
    probe = {f"probe.{key}": each for key, each in keys["probe"]["properties"].items()}
    names = [name for key in keys for name in (probe if key == "probe" else (key,))]
    return {name: probe.get(name) or keys[name] for name in names}


def of_tool(tool: str) -> dict[str, Any]:  # noqa: ARG001 - validate-pyproject passes the name of the table
    """Return the schema of the table [tool.torch-doctor], for validate-pyproject."""
    return schema()


def _plain(value: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a key without references, and without `null`: in TOML, an optional key is left out instead."""
    kinds = [kind for kind in value.get("anyOf", ()) if kind != {"type": "null"}]
    kept = {name: each for name, each in value.items() if name not in {"anyOf", "$ref"}}
    if not kinds:
        return kept
    del kept["default"]
    return {**kept, **kinds[0]}


def described(key: str, entry: str | None = None) -> dict[str, Any]:
    """Return the schema of a key, or of an entry of the table that it is, with an example for the key."""
    about: dict[str, Any] = properties()[key]
    if key == "probe" and entry in PROBE_KEYS:
        inner: dict[str, Any] = about["properties"][entry]
        return {**inner, "examples": [{entry: inner["examples"][0]}]}
    return about if entry is None else {**about["additionalProperties"], "examples": about["examples"]}


def kind(about: dict[str, Any]) -> str:
    """Return the type of a key in words, such as "list of strings"."""
    if "enum" in about:
        return f"one of {', '.join(f'`{each}`' for each in about['enum'])}"
    if about["type"] == "array":
        return f"list of {kind(about['items'])}s"
    if about["type"] == "object":
        inner = about["additionalProperties"]
        if not inner:
            return "table"
        return "table of levels" if "enum" in inner else f"table of {kind(inner).replace('list', 'lists', 1)}"
    return {"boolean": "bool", "string": "string", "number": "positive number"}[about["type"]]


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
