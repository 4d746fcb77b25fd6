"""`configargparse` where it is not installed: the parser of argparse, with options that name a file of further ones."""

from __future__ import annotations

import argparse
import os
import re
from typing import Any

OWN = ("is_config_file", "is_config_file_arg", "is_write_out_config_file_arg", "env_var")
"""What an option may be told that argparse does not know."""
OF_PARSER = re.compile(r"config|env_var|ignore_unknown")
"""Words in the arguments of a parser that argparse does not know."""
ENTRY = re.compile(r"^\s*(?:--)?([\w-]+)\s*[=:]?\s*(.*?)\s*$")
YES = frozenset({"true", "yes", "1", "on"})


class Parser(argparse.ArgumentParser):
    """A parser whose options may be in a file: `key = value`, one in a line."""

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        super().__init__(*arguments, **{key: given for key, given in keywords.items() if not OF_PARSER.search(key)})

    def add_argument(self, *arguments: Any, **keywords: Any) -> argparse.Action:
        """As that of argparse."""
        own = {key: keywords.pop(key) for key in OWN if key in keywords}
        if own.get("is_config_file") or own.get("is_config_file_arg"):
            keywords.setdefault("action", _Reads)
        return super().add_argument(*arguments, **keywords)

    add = add_arg = add_argument


class _Reads(argparse.Action):
    """Gives the options of a file to those that were not given themselves."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: str | None = None) -> None:
        del option_string
        setattr(namespace, self.dest, values)
        known = {name.lstrip("-"): action for action in parser._actions for name in action.option_strings}
        for name, text in _entries(values):
            action = known.get(name)
            if action is not None and getattr(namespace, action.dest, None) == action.default:
                setattr(namespace, action.dest, _value(action, text))


def _entries(path: Any) -> list[tuple[str, str]]:
    if not os.path.isfile(path):
        return []
    with open(path, encoding="utf-8", errors="replace") as file:
        found = [ENTRY.match(line.partition("#")[0]) for line in file]
    return [(each[1], each[2].strip("\"'")) for each in found if each]


def _value(action: argparse.Action, text: str) -> Any:
    """What the text of an option means."""
    if action.nargs == 0:
        return action.const if text.lower() in YES | {""} else action.default
    kind: Any = action.type if callable(action.type) else str
    if action.nargs is None:
        return kind(text)
    return [kind(part) for part in re.split(r"[\s,]+", text.strip("[] ")) if part]


def names() -> dict[str, Any]:
    """All that the package has."""
    parsers = dict.fromkeys(("ArgumentParser", "ArgParser", "Parser"), Parser)
    return {**{name: value for name, value in vars(argparse).items() if name[:1] != "_"}, **parsers}
