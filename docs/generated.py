"""The pages that mkdocs makes from the code: one for each rule, the settings, the commands."""

from __future__ import annotations

import importlib
import json
from typing import TYPE_CHECKING, Any

import click
import msgspec
from mkdocs.structure.files import File

from torch_doctor.cli import COMMANDS, commands
from torch_doctor.cli.diagnose import table
from torch_doctor.config import Config
from torch_doctor.report.links import OWN
from torch_doctor.report.rule_pages import markdown_table, page
from torch_doctor.rule import all_rules

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages to those that are written by hand; mkdocs calls this."""
    for path, text in pages():
        files.append(File.generated(config, path, content=text))
    return files


def pages() -> Iterator[tuple[str, str]]:
    """Path and Markdown of every page."""
    rules = [rule for rule in all_rules() if rule.code.startswith(OWN)]
    yield "rules/index.md", f"# Rules\n\n{markdown_table(rules, linked=True)}"
    for rule in rules:
        yield f"rules/{rule.code}.md", page(rule)
    yield "symptoms.md", table()
    yield "settings.md", settings()
    yield "commands.md", "\n".join(["# Commands\n", *map(command, COMMANDS)])


def settings() -> str:
    """Every key of the configuration, with its type, its default and an example."""
    (schema,), known = msgspec.json.schema_components([Config])
    while "$ref" in schema:
        schema = known[schema["$ref"].rpartition("/")[2]]
    opening = "# Settings\n\nThe keys of `[tool.torch-doctor]` in `pyproject.toml`, or of a `torch-doctor.toml`.\n"
    return "\n".join([opening, *(setting(*item) for item in schema["properties"].items())])


def setting(name: str, schema: dict[str, Any]) -> str:
    """One key."""
    lines = [f"## {name.replace('_', '-')}\n"]
    if "description" in schema:
        lines.append(f"{schema['description']}\n")
    kinds = [each.get("type", "") for each in schema.get("anyOf", [schema])]
    lines.append(f"Type: {' or '.join(kind for kind in kinds if kind != 'null')}  ")
    default = schema.get("default")
    lines.append(f"Default: {'none' if default is None else f'`{json.dumps(default)}`'}\n")
    lines += [f"Example: `{json.dumps(example)}`\n" for example in schema.get("examples", ())]
    return "\n".join(lines)


def command(name: str) -> str:
    """One command, as its help has it."""
    found: click.Command = importlib.import_module(f"torch_doctor.cli.{name}").command
    context = click.Context(found, info_name=name, parent=click.Context(commands, info_name="torch-doctor"))
    return f"## {name}\n\n```text\n{found.get_help(context)}\n```\n"
