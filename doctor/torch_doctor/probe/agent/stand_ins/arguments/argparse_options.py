"""Command line arguments that must be given and were not: filled, or asked for."""

from __future__ import annotations

import argparse
import functools
import os
import sys
from typing import TYPE_CHECKING, Any

from ...imports import after
from .. import told
from ..demands import wanted
from ..project_files import configuration
from ..stand_in import StandIn
from .values import WHY, made_up, main_command, names_configuration

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import ModuleType

    from ..source import Sources


METAVARS: dict[str, Any] = {"INT": int, "FLOAT": float, "BOOL": bool}  # where a library keeps the type to itself
FLAGS = frozenset(
    {"train", "do_train", "training", "is_train", "is_training", "train_mode", "run_train", "train_model"}
)
"""What flags are called that have a script train."""


class ArgparseOptions(StandIn):
    """Fills what argparse requires, and tyro, which has a copy of it."""

    replaces = "required argument"
    voids = (told.ARGUMENTS,)
    installed_after = ("ProcessGroup",)

    def prepare(self) -> None:
        """Patches `argparse`, on which most libraries stand, and tyro's copy of it when it is imported."""
        _patch_argparse(self, argparse)
        os.environ["PYTHON_TYRO_BACKEND"] = "argparse"  # a copy of it
        for name in ("tyro._argparse", "tyro._backends._argparse"):
            after(name, functools.partial(_patch_argparse, self))


def _patch_argparse(stand_in: StandIn, module: ModuleType) -> None:
    library: Any = module
    parse = library.ArgumentParser.parse_known_args

    @functools.wraps(parse)
    def parse_known_args(self: Any, args: Sequence[str] | None = None, namespace: Any = None, **keywords: Any) -> Any:
        if (args is None or list(args) == sys.argv[1:]) and stand_in.sources.innermost() is not None:
            args = _filled(self, list(sys.argv[1:]), stand_in)
        return parse(self, args, namespace, **keywords)

    library.ArgumentParser.parse_known_args = parse_known_args


def _filled(parser: argparse.ArgumentParser, given: list[str], stand_in: StandIn) -> list[str]:
    """The arguments with those that are missing."""
    needed = [*_required(parser), *_wanted(parser, stand_in.sources, given)]
    missing = [action for action in needed if not _is_given(parser, action, given)]
    positional = [action for action in missing if not action.option_strings]
    count = sum(not word.startswith("-") for word in given) if positional else 0
    before: list[str] = []
    for action in missing:
        if not action.option_strings and count:  # what is there may well be its value
            count -= 1
            continue
        if _has_commands(action):
            name = main_command(list(action.choices or ()))
            inner = _filled(dict(action.choices or {})[name], [], stand_in)
            stand_in.tell(f"the command {name!r}", "the command that trains", why=WHY)
            return [*given, *before, name, *inner]
        values = _values(action, stand_in)
        name = action.option_strings[-1] if action.option_strings else action.dest
        stand_in.tell(f"{name} {' '.join(values)}".rstrip(), "a placeholder value", why=WHY)
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
        if _has_commands(action):
            if action.required or action.choices:
                yield action
        elif action.required and id(action) not in grouped and not (optional and not action.option_strings):
            yield action
    for group in parser._mutually_exclusive_groups:
        if group.required and group._group_actions:
            yield group._group_actions[0]


def _wanted(parser: argparse.ArgumentParser, sources: Sources, given: list[str]) -> Iterator[argparse.Action]:
    """What is optional by its declaration, and without which the script gives up, or does not train.

    That is a configuration file; a flag that has the script train, where nothing was given at all; and a choice between
    training and something else.
    """
    for action in parser._actions:
        if not given and (_trains(action) or _leaves_training_out(action)):
            yield action
        optional = (
            bool(action.option_strings) and not action.required and action.default is None and action.nargs is None
        )
        if optional and names_configuration(action.dest) and wanted(sources, action.dest) and configuration(sources):
            yield action


def _trains(action: argparse.Action) -> bool:
    """Whether it is a flag that is off, and has the script train."""
    return action.nargs == 0 and action.default is False and action.dest in FLAGS


def _leaves_training_out(action: argparse.Action) -> bool:
    """Whether its default is another choice than to train."""
    return (
        bool(action.option_strings)
        and "train" in (action.choices or ())
        and isinstance(action.default, str)
        and "train" not in action.default
    )


def _is_given(parser: argparse.ArgumentParser, action: argparse.Action, given: list[str]) -> bool:
    if _has_commands(action):
        return any(word in (action.choices or ()) for word in given)
    names = action.option_strings
    for group in parser._mutually_exclusive_groups:
        if action in group._group_actions:
            names = [name for each in group._group_actions for name in each.option_strings]
    return any(
        word == name or word.startswith(f"{name}=") or (len(name) == 2 and word.startswith(name))  # noqa: PLR2004 - `-n5`
        for word in given
        for name in names
    )


def _has_commands(action: argparse.Action) -> bool:
    """Whether it takes one of several commands, each with a parser of its own."""
    return isinstance(action.choices, dict) and all(hasattr(each, "_actions") for each in action.choices.values())


def _values(action: argparse.Action, stand_in: StandIn) -> list[str]:
    """Words for an argument; none for one that takes none."""
    if action.nargs == 0:
        return []
    count = action.nargs if isinstance(action.nargs, int) else 1
    name = action.option_strings[-1] if action.option_strings else action.dest
    kind = METAVARS.get(str(action.metavar), action.type)
    plain, choices = name.lstrip("-").replace("-", "_"), list(action.choices or ())
    return [made_up(plain, kind, choices, action.help or "", stand_in.sources)] * count
