"""The parts of pages that come from the code: the keys of the configuration, the commands, the rungs, the symptoms."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from click.testing import CliRunner

from torch_doctor.checkup.symptoms import SYMPTOMS
from torch_doctor.cli import COMMANDS, commands
from torch_doctor.config.schema import in_toml
from torch_doctor.rule import all_rules

if TYPE_CHECKING:
    from torch_doctor.checkup.causes import Cause
    from torch_doctor.checkup.symptoms import Symptom

WIDTH = 88
"""How many characters a line of a command's help may have."""


def settings() -> str:
    """Return a section for each key of the configuration: what it does, its type, its default, an example."""
    keys = json.loads(output("config", "--output-format", "json"))
    return "\n".join(setting(key, described) for key, described in keys.items())


def setting(key: str, described: dict[str, Any]) -> str:
    """Return the section of a key, from what `torch-doctor config` prints about it."""
    default = "none" if described["default"] is None else f"`{in_toml(described['default'])}`"
    table, _, name = key.rpartition(".")
    example = f"[tool.torch-doctor{f'.{table}' * bool(table)}]\n{name} = {in_toml(described['example'])}"
    facts = f"Type: {described['type']}<br>Default: {default}"
    return f"### `{key}` {{ #{key.replace('.', '-')} }}\n\n{described['doc']}\n\n{facts}\n\n```toml\n{example}\n```\n"


def reference() -> str:
    """Return a section for each command, with its help."""
    return "\n".join(f"## {name}\n\n```text\n{output(name, '--help').rstrip()}\n```\n" for name in COMMANDS)


def symptoms() -> str:
    """Return a section for each symptom: what people call it, and its causes with the rules and rungs that decide them."""
    return "\n".join(map(symptom, SYMPTOMS))


def symptom(each: Symptom) -> str:
    """Return the section of a symptom."""
    quoted = ", ".join(f"“{example}”" for example in each.examples)
    lines = [f"### {sentence(each.name)}\n", f"{sentence(each.meaning)}. For example: {quoted}.\n"]
    lines += [f"{number}. {cause(one)}" for number, one in enumerate(each.causes, start=1)]
    return "\n".join(lines) + "\n"


def cause(each: Cause) -> str:
    """Return a cause with links to the rules that find it and to the rungs that show it."""
    names = {rule.code: rule.name for rule in all_rules()}
    rules = ", ".join(f"[{names[code]}](rules/{code}.md)" for code in each.codes)
    rungs = ", ".join(f"[{rung}](#{rung})" for rung in each.rungs)
    decided = [f"{kind}: {links}" for kind, links in (("Rules", rules), ("Rungs", rungs)) if links]
    return "<br>".join([sentence(each.what), *decided])


def sentence(text: str) -> str:
    """Return a text with a capital letter at its start."""
    return text[0].upper() + text[1:]


def output(*arguments: str) -> str:
    """Return what a command prints.

    Raises:
        RuntimeError: the command failed.
    """
    result = CliRunner().invoke(
        commands, arguments, prog_name="torch-doctor", terminal_width=WIDTH, max_content_width=WIDTH
    )
    if result.exit_code:
        message = f"torch-doctor {' '.join(arguments)}: {result.output}"
        raise RuntimeError(message)
    return result.stdout
