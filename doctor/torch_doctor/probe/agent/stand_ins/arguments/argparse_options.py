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
from .documented import commands, said_of, usable, value_of
from .values import MADE_UP, WHY, made_up, main_command, names_configuration

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import ModuleType

    from ..source import Sources


OF_HYDRA = "hydra_help"  # an option of hydra's parser, which needs nothing
MANY = 1_000  # words that an option takes which may have any number of them
METAVARS: dict[str, Any] = {"INT": int, "FLOAT": float, "BOOL": bool}  # where a library keeps the type to itself
GOING_ON = (
    "resume",
    "pretrain",
    "checkpoint",
    "ckpt",
    "weight",
    "load",
    "snapshot",
    "restore",
    "gpu",
    "device",
    "rank",
)
"""Words in the names of options that are about an earlier run, or about the machine."""
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
        own = stand_in.sources.innermost() is not None and all(each.dest != OF_HYDRA for each in self._actions)
        if own and (args is None or list(args) == sys.argv[1:]):
            args = _filled(self, list(sys.argv[1:]), stand_in)
        return parse(self, args, namespace, **keywords)

    library.ArgumentParser.parse_known_args = parse_known_args


def _filled(parser: argparse.ArgumentParser, given: list[str], stand_in: StandIn) -> list[str]:
    """The arguments with those that are missing."""
    needed = dict.fromkeys([*_required(parser), *_wanted(parser, stand_in.sources, given), *_learnt(parser, stand_in)])
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
        values = _values(action, parser, stand_in)
        name = action.option_strings[-1] if action.option_strings else action.dest
        stand_in.tell(f"{name} {' '.join(values)}".rstrip(), said_of(next(iter(values), "")), why=WHY)
        before += [*([action.option_strings[-1]] if action.option_strings else []), *map(str, values)]
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
        configures = optional and names_configuration(action.dest) and wanted(sources, action.dest)
        documented = not given and _is_left_open(action) and _is_documented(action, sources)
        if documented or (configures and configuration(sources)):
            yield action


def _is_left_open(action: argparse.Action) -> bool:
    """Whether an option has no value by default, and takes one."""
    return bool(action.option_strings) and not action.required and action.nargs is None and action.default in (None, "")


def _is_documented(action: argparse.Action, sources: Sources) -> bool:
    """Whether the first documented command line gives an option a file of the project, which is no checkpoint to go on from.

    So it does with a value that the script gives up without.
    """
    first = commands(sources)[:1]
    names = {name.lstrip("-") for name in action.option_strings}
    if not any(word.lstrip("-").partition("=")[0] in names for each in first for word in each.words):
        return False
    value = value_of(sources, action.option_strings, action.type, action.choices or ())
    if value is None or any(word in action.dest.lower() for word in GOING_ON):
        return False
    return os.path.isfile(value) or wanted(sources, action.dest)


def _learnt(parser: argparse.ArgumentParser, stand_in: StandIn) -> Iterator[argparse.Action]:
    """What earlier attempts gave up without; and the configuration in which it may be, where there is one."""
    for action in parser._actions if stand_in.learnt.names("argument") else ():
        left, named = action.default in (None, ""), names_configuration(action.dest)
        if (named and _is_left_open(action) and configuration(stand_in.sources, action.dest)) or any(
            left or value is not None for value in stand_in.learnt.all("argument", action.dest)
        ):
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


def _documented(action: argparse.Action, parser: argparse.ArgumentParser, sources: Sources) -> list[str]:
    """The words that a documented command line has for an argument; none where it has none that will do."""
    if any(str(choice).lower() in MADE_UP for choice in action.choices or ()):
        return []
    if action.option_strings and action.nargs is None:
        found = value_of(sources, action.option_strings, action.type, action.choices or ())
        return [found] if found is not None else []
    if action.option_strings or action.nargs not in (None, 1, "+"):
        return []
    place = [each for each in parser._actions if not each.option_strings].index(action)
    for command in commands(sources):
        plain = _positional(command.words, parser)
        value = usable(sources, plain[place], command.place, action.type) if place < len(plain) else None
        if value is not None and (not action.choices or value in map(str, action.choices)):
            return [value]
    return []


def _positional(words: list[str], parser: argparse.ArgumentParser) -> list[str]:
    """The words of a command line that are no option, nor the value of one."""
    found: list[str] = []
    taken = 0
    for word in words:
        option = parser._option_string_actions.get(word)
        if word.startswith("-") and not word[1:2].isdigit():
            taken = MANY if option is None and "=" not in word else _count(option)
        elif taken > 0:
            taken -= 1
        else:
            found.append(word)
    return found


def _count(option: argparse.Action | None) -> int:
    """How many words an option takes."""
    if option is None:
        return 0
    return option.nargs if isinstance(option.nargs, int) else 1 if option.nargs in (None, "?") else MANY


def _has_commands(action: argparse.Action) -> bool:
    """Whether it takes one of several commands, each with a parser of its own."""
    return isinstance(action.choices, dict) and all(hasattr(each, "_actions") for each in action.choices.values())


def _values(action: argparse.Action, parser: argparse.ArgumentParser, stand_in: StandIn) -> list[str]:
    """Words for an argument; none for one that takes none."""
    if action.nargs == 0:
        return []
    count = action.nargs if isinstance(action.nargs, int) else 1
    documented = _documented(action, parser, stand_in.sources)
    if documented and stand_in.learnt.of("argument", action.dest) is None:
        return documented
    name = action.option_strings[-1] if action.option_strings else action.dest
    kind = METAVARS.get(str(action.metavar), action.type)
    value = stand_in.learnt.of("argument", action.dest)
    if value is not None:
        return [str(value)] * count
    plain, choices = name.lstrip("-").replace("-", "_"), list(action.choices or ())
    return [made_up(plain, kind, choices, action.help or "", stand_in.sources)] * count
