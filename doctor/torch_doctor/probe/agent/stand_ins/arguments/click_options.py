"""Parameters of click's commands, and of typer's, that must be given and were not."""

from __future__ import annotations

import functools
import os
from typing import TYPE_CHECKING, Any

from ...imports import after
from .. import told
from ..files import Files
from ..stand_in import StandIn
from .documented import said_of
from .values import WHY, made_up, main_command

if TYPE_CHECKING:
    from types import ModuleType

KINDS = {"integer": int, "integer range": int, "float": float, "float range": float, "boolean": bool}
PLACES = ("path", "file", "directory", "filename")
HELD = "torch-doctor"  # the folder of what is made up


class ClickOptions(StandIn):
    """Fills what click requires, and typer, which stands on it."""

    replaces = "required argument"
    voids = (told.ARGUMENTS,)

    def prepare(self) -> None:
        """Patches click and typer when they are imported."""
        for name in ("click.core", "typer.core", "typer._click.core"):
            after(name, functools.partial(_patch, self))


def _patch(stand_in: StandIn, module: ModuleType) -> None:
    for name in ("_TyperParameter", "Parameter"):  # typer has its own click
        if hasattr(module, name):
            _patch_values(stand_in, getattr(module, name))
    for name in ("Option", "TyperOption"):
        _patch_prompts(stand_in, getattr(module, name, None))
    for name in ("MultiCommand", "Group", "TyperGroup"):
        _patch_commands(stand_in, vars(module).get(name))


def _patch_values(stand_in: StandIn, parameter: Any) -> None:
    process = parameter.process_value

    @functools.wraps(process)
    def process_value(self: Any, context: Any, value: Any) -> Any:
        try:
            return process(self, context, value)
        except Exception as error:
            if type(error).__name__ != "MissingParameter" or getattr(context, "resilient_parsing", False):
                raise
        made = _made(stand_in, self)
        stand_in.tell(f"{self.name} {made}", said_of(made), why=WHY)
        made = str(made)  # and no class of ours
        count = self.nargs if self.nargs > 0 else 1
        whole: Any = made if self.nargs == 1 else (made,) * count
        return process(self, context, (whole,) if getattr(self, "multiple", False) else whole)

    parameter.process_value = process_value


def _made(stand_in: StandIn, parameter: Any) -> str:
    sort = getattr(parameter, "type", None) or parameter.type_descriptor  # typer's
    word = str(getattr(sort, "name", "str"))
    kind = KINDS.get(word, getattr(sort, "annotation", None))
    choices = [getattr(choice, "value", choice) for choice in getattr(sort, "choices", None) or ()]
    made = made_up(parameter.name, kind, choices, getattr(parameter, "help", None) or "", stand_in.sources)
    least, most = getattr(sort, "min", None), getattr(sort, "max", None)
    if kind in (int, float) and (least is not None or most is not None):
        made = str(min(max(kind(made), least if least is not None else kind(made)), most or float("inf")))
    if word in PLACES:
        made = made if os.path.dirname(made) else os.path.join(HELD, made)
        if getattr(sort, "exists", False) or word == "filename":
            _make(stand_in, made, folder=getattr(sort, "dir_okay", False))
    return made


def _make(stand_in: StandIn, path: str, *, folder: bool) -> None:
    """What has to be there: a folder, unless it must be a file."""
    if os.path.exists(path):
        return
    if folder:
        os.makedirs(path, exist_ok=True)
    elif not Files(stand_in.setting).make(path):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb"):
            pass


def _patch_prompts(stand_in: StandIn, option: Any) -> None:
    """What would be asked for at the terminal is made up as what must be given is."""
    if option is None or "prompt_for_value" not in vars(option):
        return

    def prompt_for_value(self: Any, context: Any) -> Any:
        default = self.get_default(context)
        value = True if getattr(self, "is_flag", False) else default or _made(stand_in, self)
        stand_in.tell(f"{self.name} {value}", "a placeholder value", why=WHY)
        return self.type_cast_value(context, value)

    option.prompt_for_value = prompt_for_value


def _patch_commands(stand_in: StandIn, group: Any) -> None:
    """Of several commands, where none is named, it is the one that trains."""
    if group is None:
        return
    parse = group.parse_args

    @functools.wraps(parse)
    def parse_args(self: Any, context: Any, args: list[str]) -> Any:
        named = any(not word.startswith("-") for word in args)
        if not named and not getattr(self, "invoke_without_command", False):
            names = list(self.list_commands(context))
            if names and not set(args) & set(context.help_option_names):
                name = main_command(names)
                stand_in.tell(f"the command {name!r}", "the command that trains", why=WHY)
                args = [*args, name]
        return parse(self, context, args)

    group.parse_args = parse_args
