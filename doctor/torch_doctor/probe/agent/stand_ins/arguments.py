"""Command line arguments that must be given and were not: filled from their type, choices and use, or asked for."""

from __future__ import annotations

import argparse
import ast
import functools
import os
import sys
from typing import TYPE_CHECKING, Any

from ..imports import after
from . import told
from .source import spelled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import ModuleType

    from .source import Sources
    from .told import Teller

WHY = "an argument that must be given"
PLACES = (
    "dir",
    "path",
    "root",
    "folder",
    "data",
    "file",
    "out",
    "output",
    "save",
    "log",
    "checkpoint",
    "ckpt",
    "cache",
)
NAMES = ("name", "run", "experiment", "exp", "tag", "title", "version", "prefix", "suffix", "project", "id", "comment")
CONFIGURATION = ("config", "configs", "cfg", "conf", "yaml", "yml", "hparams", "opt")
EASY = (
    "fake",
    "dummy",
    "synthetic",
    "random",
    "toy",
    "mnist",
    "cifar10",
    "cifar-10",
    "cifar",
    "small",
    "tiny",
    "train",
    "cpu",
)
TRAINING = ("train", "fit", "run")


def prepare(sources: Sources, teller: Teller) -> None:
    """Patches `argparse`, and click when it is imported."""
    parser: Any = argparse.ArgumentParser
    parse = parser.parse_known_args

    @functools.wraps(parse)
    def parse_known_args(self: Any, args: Sequence[str] | None = None, namespace: Any = None) -> Any:
        if args is None and sources.called_by_user(3 if _is_through(sys._getframe(1)) else 2):
            args = _filled(self, list(sys.argv[1:]), sources, teller)
        return parse(self, args, namespace)

    parser.parse_known_args = parse_known_args
    after("click.core", functools.partial(_patch_click, sources, teller))


def _is_through(frame: Any) -> bool:
    return bool(frame.f_code.co_filename == argparse.__file__)


# --- argparse ---


def _filled(parser: argparse.ArgumentParser, given: list[str], sources: Sources, teller: Teller) -> list[str]:
    """The arguments with those that are missing."""
    missing = [action for action in _required(parser) if not _is_given(parser, action, given)]
    positional = [action for action in missing if not action.option_strings]
    count = sum(not word.startswith("-") for word in given) if positional else 0
    before: list[str] = []
    for action in missing:
        if not action.option_strings and count:  # what is there may well be its value
            count -= 1
            continue
        if isinstance(action, argparse._SubParsersAction):
            name = _subcommand(action)
            inner = _filled(action.choices[name], [], sources, teller)
            teller.stand_in(f"the command {name!r}", WHY, "the one that trains", [told.ARGUMENTS])
            return [*given, *before, name, *inner]
        values = _values(action, sources, teller)
        name = action.option_strings[-1] if action.option_strings else action.dest
        teller.stand_in(f"{name} {' '.join(values)}".rstrip(), WHY, "a value made up", [told.ARGUMENTS])
        before += [*([action.option_strings[-1]] if action.option_strings else []), *values]
    return [*given, *before]


def _required(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """What must be given: options, positional arguments, one of each required group."""
    grouped: set[int] = set()
    for group in parser._mutually_exclusive_groups:
        if group.required and group._group_actions:
            grouped.update(id(action) for action in group._group_actions[1:])
    for action in parser._actions:
        optional = action.nargs in ("?", "*", argparse.REMAINDER, argparse.SUPPRESS)
        if isinstance(action, argparse._SubParsersAction):
            if action.required or action.choices:
                yield action
        elif action.required and id(action) not in grouped and not (optional and not action.option_strings):
            yield action
    for group in parser._mutually_exclusive_groups:
        if group.required and group._group_actions:
            yield group._group_actions[0]


def _is_given(parser: argparse.ArgumentParser, action: argparse.Action, given: list[str]) -> bool:
    if isinstance(action, argparse._SubParsersAction):
        return any(word in action.choices for word in given)
    names = action.option_strings
    for group in parser._mutually_exclusive_groups:
        if action in group._group_actions:
            names = [name for each in group._group_actions for name in each.option_strings]
    return any(
        word == name or word.startswith(f"{name}=") or (len(name) == 2 and word.startswith(name))  # noqa: PLR2004 - `-n5`
        for word in given
        for name in names
    )


def _subcommand(action: argparse._SubParsersAction[Any]) -> str:
    names = list(action.choices)
    return next((name for word in TRAINING for name in names if word in name), names[0])


def _values(action: argparse.Action, sources: Sources, teller: Teller) -> list[str]:
    """Words for an argument; none for one that takes none."""
    if action.nargs == 0:
        return []
    count = action.nargs if isinstance(action.nargs, int) else 1
    value = _value(action.dest, action.type, list(action.choices or ()), action.help or "", sources)
    if value is None:
        name = action.option_strings[-1] if action.option_strings else action.dest
        about = f" ({action.help})" if action.help else ""
        entry = {"name": name, "kind": getattr(action.type, "__name__", "str"), "help": action.help or ""}
        text = f"the script needs the argument {name}{about}: give it after `--`"
        raise teller.asked(text, [entry])
    return [value] * count


def _value(name: str, kind: Any, choices: list[Any], about: str, sources: Sources) -> str | None:  # noqa: C901, PLR0911 - by sort
    """A value for an argument of this name, by its type, its choices, its use, or its name."""
    if choices:
        return str(_easiest([str(choice) for choice in choices]))
    if kind is int:
        return str(_number(name))
    if kind is float:
        return "0.01"
    if kind is bool:
        return "1"
    if isinstance(kind, argparse.FileType):
        return os.devnull
    compared = _compared(name, sources)
    if compared:
        return _easiest(compared)
    words = name.lower().replace("-", "_").split("_")
    if any(word in CONFIGURATION for word in words):
        found = _configuration(sources)
        if found:
            return found
    if any(place in word for word in words for place in PLACES) or "path" in about.lower():
        return os.path.join("torch-doctor", name)
    if any(word in NAMES for word in words):
        return "probe"
    return None


def _configuration(sources: Sources) -> str | None:
    """The first file of the project that looks like a configuration."""
    for top, folders, names in os.walk(sources.project):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            stem, ending = os.path.splitext(name)
            about = f"{os.path.basename(top)} {stem}".lower()
            if ending in (".yaml", ".yml", ".json", ".toml", ".ini") and any(
                word in about for word in ("conf", "cfg", "param")
            ):
                return os.path.join(top, name)
    return None


def _number(name: str) -> int:
    """A whole number that does no harm: sizes are even, counts are small."""
    lowered = name.lower()
    if any(word in lowered for word in ("local_rank", "rank", "seed", "gpu", "fold", "device")):
        return 0
    if any(word in lowered for word in ("epoch", "iter", "step", "worker", "node", "world")):
        return 2 if "epoch" in lowered or "iter" in lowered or "step" in lowered else 1
    if any(word in lowered for word in ("batch", "bs")):
        return 8
    if any(word in lowered for word in ("class", "label")):
        return 10
    if any(word in lowered for word in ("factor", "scale", "layer", "depth", "head", "level")):
        return 2
    return 4


def _easiest(values: Sequence[str]) -> str:
    """The value that needs least: one that says it is made up, or small; else the first."""
    return next((value for easy in EASY for value in values if value.lower() == easy), values[0])


def _compared(name: str, sources: Sources) -> list[str]:
    """The words that the user's code compares `args.name` with, in the order of the source."""
    found: list[str] = []
    for tree in sources.project_trees():
        for node in ast.walk(tree):
            if isinstance(node, ast.Compare) and len(node.ops) == 1 and _mentions(node.left, name):
                found += [word for each in ast.walk(node.comparators[0]) if (word := _word(each))]
            elif isinstance(node, ast.Subscript) and isinstance(node.value, ast.Dict) and _mentions(node.slice, name):
                found += [word for key in node.value.keys if key is not None and (word := _word(key))]
    return found


def _word(node: ast.AST) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _mentions(node: ast.expr, name: str) -> bool:
    """Whether it is `args.name`, or `args.name.lower()`."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and not node.args:
        node = node.func.value
    return isinstance(node, ast.Attribute) and spelled(node) == name


# --- click ---


def _patch_click(sources: Sources, teller: Teller, module: ModuleType) -> None:
    click: Any = module
    missing: Callable[..., Any] = click.Parameter.process_value

    @functools.wraps(missing)
    def process_value(self: Any, context: Any, value: Any) -> Any:
        if value in (None, ()) and self.required:
            kinds = {"integer": int, "float": float, "boolean": bool}
            choices = list(getattr(self.type, "choices", ()))
            about = getattr(self, "help", None) or ""
            made = _value(self.name, kinds.get(getattr(self.type, "name", "")), choices, about, sources)
            if made is None:
                entry = {"name": self.name, "kind": getattr(self.type, "name", "str"), "help": about}
                text = f"the script needs the argument {self.name}: give it after `--`"
                raise teller.asked(text, [entry])
            teller.stand_in(f"{self.name} {made}", WHY, "a value made up", [told.ARGUMENTS])
            value = made
        return missing(self, context, value)

    click.Parameter.process_value = process_value
