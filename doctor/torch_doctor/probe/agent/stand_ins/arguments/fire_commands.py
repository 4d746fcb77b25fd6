"""Parameters of what `fire.Fire` calls that must be given and were not, and the command that trains, where there are several."""

from __future__ import annotations

import functools
import inspect
import sys
from typing import TYPE_CHECKING, Any

from ...imports import after
from .. import told
from ..stand_in import StandIn
from .documented import said_of
from .values import WHY, made_up, main_command, untyped

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType


KINDS = {"int": int, "float": float, "bool": bool, "str": str}


class FireCommands(StandIn):
    """Fills what fire's commands require, and chooses the one that trains."""

    replaces = "required argument"
    voids = (told.ARGUMENTS,)

    def prepare(self) -> None:
        """Patches fire when it is imported."""
        after("fire", functools.partial(_patch, self))


def _patch(stand_in: StandIn, module: ModuleType) -> None:
    fire: Any = module
    run = getattr(fire, "Fire", None)
    if run is None:
        return

    @functools.wraps(run)
    def called(component: Any = None, command: Any = None, *arguments: Any, **keywords: Any) -> Any:
        if component is None:  # fire would take what is in the module that calls it: this one
            component = {
                name: value
                for name, value in vars(sys.modules["__main__"]).items()
                if (inspect.isfunction(value) or inspect.isclass(value)) and value.__module__ == "__main__"
            }
        if command is None:
            command = _filled(component, sys.argv[1:], stand_in)
        return run(component, command, *arguments, **keywords)

    fire.Fire = fire.core.Fire = called


def _filled(component: Any, given: Sequence[str], stand_in: StandIn) -> list[str]:
    """The command line with what it needs for a component."""
    if inspect.isclass(component):
        whole = [*given, *_missing(component, given, stand_in)]
        methods = {name: each for name, each in vars(component).items() if inspect.isfunction(each) and name[0] != "_"}
        if not methods or any(word in methods for word in given):
            return whole
        name = _chosen(methods, stand_in)
        return [*whole, name, *_missing(functools.partial(methods[name], None), [], stand_in)]
    if callable(component):
        return [*given, *_missing(component, given, stand_in)]
    members = component if isinstance(component, dict) else _members(component)
    first = next((word.replace("-", "_") for word in given if not word.startswith("-")), "")
    if members and (first in members or not first):
        name = first or _chosen(members, stand_in)
        rest = [word for word in given if word.replace("-", "_") != first]
        return [name, *_filled(members[name], rest, stand_in)]
    return list(given)


def _members(component: Any) -> dict[str, Any]:
    names = [name for name in dir(component) if not name.startswith("_")]
    return {name: getattr(component, name) for name in names if callable(getattr(component, name, None))}


def _chosen(members: dict[str, Any], stand_in: StandIn) -> str:
    name = main_command(list(members))
    stand_in.tell(f"the command {name!r}", "the command that trains", why=WHY)
    return name


def _missing(function: Any, given: Sequence[str], stand_in: StandIn) -> list[str]:
    """Words for the parameters that have no default and are not among what is given."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return []
    named = {word.lstrip("-").partition("=")[0].replace("-", "_") for word in given if word.startswith("-")}
    flags = sum(word.startswith("-") and "=" not in word for word in given)
    places = sum(not word.startswith("-") for word in given) - flags  # the others follow a flag
    found = []
    for each in parameters:
        if each.kind in (each.VAR_POSITIONAL, each.VAR_KEYWORD) or each.name in named:
            continue
        if places > 0 and each.kind is not each.KEYWORD_ONLY:
            places -= 1
        elif each.default is each.empty:
            found.append(f"--{each.name}={_value(each, stand_in)}")
    return found


def _value(parameter: inspect.Parameter, stand_in: StandIn) -> str:
    name = parameter.name
    kind = KINDS.get(getattr(parameter.annotation, "__name__", str(parameter.annotation)))
    value = made_up(name, kind, [], "", stand_in.sources) if kind is not None else untyped(name, stand_in.sources)
    stand_in.tell(f"--{name} {value}", said_of(value), why=WHY)
    return value
