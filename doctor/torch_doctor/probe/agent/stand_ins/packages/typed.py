"""Command lines by the types of fields and parameters."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import enum
import inspect
import types
import typing
from typing import Any

YES = frozenset({"true", "yes", "1", "on", "t", "y"})
REST = dataclasses.MISSING


@dataclasses.dataclass
class Parameter:
    """A field of a class, or a parameter of a function."""

    name: str
    kind: Any
    default: Any = REST
    choices: Any = None
    about: str = ""


# --- what there is to give ---


def parameters(owner: Any) -> list[Parameter]:
    """The fields of a dataclass, or the parameters of a function."""
    known = hints(owner if isinstance(owner, type) and dataclasses.is_dataclass(owner) else _called(owner))
    if dataclasses.is_dataclass(owner):
        return [_of_field(each, known) for each in dataclasses.fields(owner) if each.init]
    found = []
    for name, each in inspect.signature(owner).parameters.items():
        if each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD):
            default = REST if each.default is each.empty else each.default
            kind = known.get(name, str if default in (REST, None) else type(default))
            found.append(Parameter(name, kind, default))
    return found


def _of_field(field: Any, known: dict[str, Any]) -> Parameter:
    default = field.default if field.default_factory is REST else field.default_factory()
    told = field.metadata
    return Parameter(field.name, known.get(field.name, str), default, told.get("choices"), str(told.get("help", "")))


def _called(owner: Any) -> Any:
    return vars(owner).get("__init__", owner) if isinstance(owner, type) else owner


def hints(owner: Any) -> dict[str, Any]:
    """The types of what a class or a function has."""
    try:
        return typing.get_type_hints(owner)
    except Exception:  # noqa: BLE001 - a name that is not there
        return {name: kind for name, kind in getattr(owner, "__annotations__", {}).items() if not isinstance(kind, str)}


# --- options ---


def add(parser: Any, owner: Any, prefix: str = "", given: Any = None) -> None:
    """Options for what an owner has, those of what is in it with a prefix; with the values of another one, where there is one."""
    for each in parameters(owner):
        default = getattr(given, each.name, each.default) if given is not None else each.default
        inner = plain_kind(each.kind)
        if dataclasses.is_dataclass(inner) and isinstance(inner, type):
            add(parser, inner, f"{prefix}{each.name}.", None if default in (REST, None) else default)
        else:
            option(parser, f"{prefix}{each.name}", each.kind, default, each.choices, each.about)


def option(parser: Any, name: str, kind: Any, default: Any, choices: Any = None, about: str = "") -> None:
    """One option, in both spellings."""
    inner, told = plain_kind(kind), dict[str, Any](dest=name, help=about.replace("%", "%%"))
    origin, within = typing.get_origin(inner), typing.get_args(inner)
    if origin in (list, tuple, set) or inner in (list, tuple):
        fixed = origin is tuple and Ellipsis not in within
        told.update(nargs=len(within) if fixed else "*", type=reader(within[0] if within else str))
    elif inner is bool:
        told.update(nargs="?", const=True, type=reader(bool))
    else:
        told.update(type=reader(inner), choices=list(choices or _choices(inner)) or None)
    told.update(required=True) if default is REST else told.update(default=default)
    spelled = list(dict.fromkeys((f"--{name}", f"--{name.replace('_', '-')}")))
    with contextlib.suppress(argparse.ArgumentError):  # one that is there already
        parser.add_argument(*spelled, **told)
        if inner is bool:
            parser.add_argument(f"--no-{spelled[-1][2:]}", dest=name, action="store_false", default=argparse.SUPPRESS)


def plain_kind(kind: Any) -> Any:
    """A type without what is optional about it, and without annotations."""
    while typing.get_origin(kind) is typing.Annotated:
        kind = typing.get_args(kind)[0]
    if typing.get_origin(kind) in (typing.Union, getattr(types, "UnionType", typing.Union)):
        return plain_kind(next((each for each in typing.get_args(kind) if each is not type(None)), str))
    return kind


def _choices(kind: Any) -> list[Any]:
    if typing.get_origin(kind) is typing.Literal:
        return list(typing.get_args(kind))
    return list(kind) if isinstance(kind, type) and issubclass(kind, enum.Enum) else []


def reader(kind: Any) -> Any:
    """What makes a value of a text."""
    choices = _choices(kind)
    if kind is bool:
        return lambda text: text.lower() in YES
    if choices:
        return lambda text: next(
            (
                each
                for each in choices
                if text in (str(each), getattr(each, "name", None), getattr(each, "value", None))
            ),
            text,
        )
    return kind if isinstance(kind, type) and kind not in (dict, object) else str


def built(owner: Any, namespace: Any, prefix: str = "") -> Any:
    """The object, or what the function returns, with the values of a command line."""
    values = {}
    for each in parameters(owner):
        inner = plain_kind(each.kind)
        whole = f"{prefix}{each.name}"
        if dataclasses.is_dataclass(inner) and isinstance(inner, type):
            values[each.name] = built(inner, namespace, f"{whole}.")
            continue
        value = getattr(namespace, whole)
        if typing.get_origin(inner) in (tuple, set) and isinstance(value, list):
            value = typing.get_origin(inner)(value)
        values[each.name] = value
    return owner(**values)


def cli(owner: Any = None, *further: Any, args: Any = None, default: Any = None, **_: Any) -> Any:
    """As `tyro.cli`, and the functions of other packages that parse a class or call a function."""
    del further
    members = owner if isinstance(owner, dict) else dict(enumerate(owner)) if isinstance(owner, (list, tuple)) else {}
    parser = argparse.ArgumentParser()
    if members:
        each_by_name = {name if isinstance(name, str) else each.__name__: each for name, each in members.items()}
        commands = parser.add_subparsers(dest="command")
        for name, each in each_by_name.items():
            add(commands.add_parser(name), each)
        given = parser.parse_args(args)
        return built(each_by_name[given.command], given)
    add(parser, owner, given=default)
    return built(owner, parser.parse_known_args(args)[0])
