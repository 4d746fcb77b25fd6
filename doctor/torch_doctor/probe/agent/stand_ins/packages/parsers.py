"""What tyro, simple_parsing, pyrallis, draccus, tap and jsonargparse have for a command line."""

from __future__ import annotations

import argparse
import dataclasses
import functools
import inspect
import json
import sys
import types
from typing import TYPE_CHECKING, Any

from .nodes import read
from .typed import REST, add, built, cli, hints, option, plain_kind, reader

if TYPE_CHECKING:
    from collections.abc import Iterator

OWN = (
    "alias",
    "cmd",
    "positional",
    "is_mutable",
    "type",
    "nargs",
    "choices",
    "help",
    "action",
    "option_strings",
    "dest",
)
"""What a field is told that `dataclasses` does not know."""


class ClassParser(argparse.ArgumentParser):
    """A parser that takes classes, too."""

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        known = inspect.signature(argparse.ArgumentParser).parameters
        super().__init__(*arguments, **{name: each for name, each in keywords.items() if name in known})
        self._owners: list[tuple[Any, str]] = []

    def add_arguments(self, dataclass: Any, dest: str, *, prefix: str = "", default: Any = None, **_: Any) -> None:
        """The options of a class, which becomes an object."""
        add(self, dataclass, prefix, default)
        self._owners.append((dataclass, dest))

    def parse_known_args(self, args: Any = None, namespace: Any = None, **_: Any) -> Any:
        """As that of argparse, with the objects of the classes."""
        given, rest = super().parse_known_args(args, namespace)
        for owner, dest in self._owners:
            setattr(given, dest, built(owner, given))
        return given, rest


# --- fields ---


def field(default: Any = REST, *names: Any, **told: Any) -> Any:
    """As `dataclasses.field`, with what a command line wants to know besides."""
    own = {name: told.pop(name) for name in OWN if name in told}
    metadata = {**dict(told.pop("metadata", None) or {}), **own}
    del names
    if isinstance(default, (list, dict, set)):
        return dataclasses.field(default_factory=lambda: type(default)(default), metadata=metadata, **told)
    told.update({} if default is REST else {"default": default})
    return dataclasses.field(metadata=metadata, **told)


def choice(*choices: Any, default: Any = REST, **told: Any) -> Any:
    """A field that is one of several."""
    known = list(choices[0]) if len(choices) == 1 and not isinstance(choices[0], str) else list(choices)
    return field(default, choices=known, **told)


def several(*items: Any, **told: Any) -> Any:
    """A field that is a list."""
    whole = items[0] if len(items) == 1 and isinstance(items[0], (list, tuple)) else items
    return field(list(whole), **told)


def subgroups(kinds: dict[str, Any], *_: Any, default: Any = REST, **__: Any) -> Any:
    """A field that is an object of one of several classes."""
    chosen = kinds[default] if isinstance(default, str) else next(iter(kinds.values())) if default is REST else default
    return dataclasses.field(default_factory=chosen)


def _made(kind: Any, *given: Any, **keywords: Any) -> Any:
    return dataclasses.field(default_factory=functools.partial(kind, *given, **keywords))


# --- functions ---


def parse(config_class: Any = None, config_path: Any = None, args: Any = None, **keywords: Any) -> Any:
    """As the `parse` of simple_parsing, pyrallis and draccus."""
    del config_path
    return cli(config_class, args=args, default=keywords.get("default"))


def wrap(*_: Any, **__: Any) -> Any:
    """A decorator: a function is called with an object of the class that its first parameter is."""

    def decorate(function: Any) -> Any:
        @functools.wraps(function)
        def called(*given: Any, **keywords: Any) -> Any:
            if given:
                return function(*given, **keywords)
            first = next(iter(inspect.signature(function).parameters))
            return function(parse(hints(function)[first]), **keywords)

        return called

    return decorate


def dump(config: Any, stream: Any = None, **_: Any) -> Any:
    """As text."""
    text = json.dumps(dataclasses.asdict(config), default=str)
    return text if stream is None else stream.write(text)


# --- tap ---


class Tap(argparse.ArgumentParser):
    """A parser whose options are the annotated attributes of its class, and which holds their values."""

    def __init__(self, *_: Any, **__: Any) -> None:
        super().__init__()
        self._own: set[str] = set()
        self._values: dict[str, Any] = {}
        self.configure()
        for name, kind in self._annotated():
            if name not in self._own:
                option(self, name, kind, getattr(type(self), name, REST))

    def _annotated(self) -> Iterator[tuple[str, Any]]:
        for owner in reversed(type(self).__mro__):
            if issubclass(owner, Tap) and owner is not Tap:
                yield from hints(owner).items()

    def configure(self) -> None:
        """What a class says besides."""

    def process_args(self) -> None:
        """What a class does with the values."""

    def add_argument(self, *names: Any, **told: Any) -> Any:
        """As that of argparse, with what the annotation says."""
        long = next((name for name in names if name.startswith("--")), names[0])
        dest = told.get("dest") or long.lstrip("-").replace("-", "_")
        kinds = dict(self._annotated())
        if dest in kinds and dest not in self._own:
            self._own.add(dest)
            default = getattr(type(self), dest, REST)
            if "action" not in told and "type" not in told:
                told["type"] = reader(plain_kind(kinds[dest]))
            if names[0].startswith("-"):
                told.setdefault("required", default is REST)
            if default is not REST:
                told.setdefault("default", default)
        return super().add_argument(*names, **told)

    def parse_args(self, args: Any = None, *_: Any, **__: Any) -> Any:
        """Itself, with the values."""
        given, self.extra_args = super().parse_known_args(args)
        self._values = dict(vars(given))
        for name, value in self._values.items():
            setattr(self, name, value)
        self.process_args()
        return self

    def as_dict(self) -> dict[str, Any]:
        """The values by name."""
        return {name: getattr(self, name) for name in self._values}

    def save(self, path: Any, **_: Any) -> None:
        """As JSON, into a file."""
        with open(path, "w", encoding="utf-8") as file:
            json.dump(self.as_dict(), file, default=str)


# --- jsonargparse ---


class NestedParser(ClassParser):
    """A parser whose options `--a.b` are attributes of attributes."""

    def add_class_arguments(self, theclass: Any, nested_key: str | None = None, **_: Any) -> None:
        """The options of a class."""
        add(self, theclass, f"{nested_key}." if nested_key else "")

    def parse_known_args(self, args: Any = None, namespace: Any = None, **_: Any) -> Any:
        """As that of argparse, in levels."""
        given, rest = super().parse_known_args(args, namespace)
        for name, value in list(vars(given).items()):
            *above, last = name.split(".")
            holder: Any = given
            for each in above:
                if not isinstance(getattr(holder, each, None), argparse.Namespace):
                    setattr(holder, each, argparse.Namespace())
                holder = getattr(holder, each)
            if above:
                delattr(given, name)
                setattr(holder, last, value)
        return given, rest


class ReadsFile(argparse.Action):
    """Gives options the values in a file."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: str | None = None) -> None:
        """Keeps them."""
        del parser, option_string
        setattr(namespace, self.dest, values)
        for name, value in _flat(read(values)):
            setattr(namespace, name, value)


def _flat(settings: dict[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in settings.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{above}{name}.")
        else:
            yield f"{above}{name}", value


# --- names ---


class Annotating:
    """An annotation that changes no type."""

    def __getitem__(self, kind: Any) -> Any:
        return kind


def _simple_parsing() -> dict[str, Any]:
    return {
        "parse": parse,
        "field": field,
        "choice": choice,
        "list_field": several,
        "mutable_field": _made,
        "flag": field,
        "subgroups": subgroups,
        "ArgumentParser": ClassParser,
        "Serializable": type("Serializable", (), {"to_dict": dataclasses.asdict}),
        "ConflictResolution": types.SimpleNamespace(NONE=0, EXPLICIT=1, ALWAYS_MERGE=2, AUTO=3),
        "ArgumentGenerationMode": types.SimpleNamespace(FLAT=0, NESTED=1, BOTH=2),
    }


def _tyro() -> dict[str, Any]:
    annotations = ("Positional", "Suppress", "Fixed", "FlagConversionOff", "AvoidSubcommands")
    marks = dict.fromkeys(("arg", "subcommand", "configure"), lambda *_, **__: None)
    conf = types.SimpleNamespace(**dict.fromkeys(annotations, Annotating()), **marks)
    return {"cli": cli, "conf": conf, "MISSING": REST}


def _pyrallis() -> dict[str, Any]:
    return {"parse": parse, "wrap": wrap, "field": field, "dump": dump, "argparsing": sys.modules[__name__]}


def _jsonargparse() -> dict[str, Any]:
    parsers = {"ArgumentParser": NestedParser, "ActionConfigFile": ReadsFile, "Namespace": argparse.Namespace}
    return {"CLI": cli, "auto_cli": cli, **parsers}


WORDS = "the parser of argparse, by the types of fields"
NAMES: dict[str, tuple[str, Any]] = {
    "tyro": (WORDS, _tyro),
    "simple_parsing": (WORDS, _simple_parsing),
    "pyrallis": (WORDS, _pyrallis),
    "draccus": (WORDS, _pyrallis),
    "tap": (WORDS, lambda: {"Tap": Tap}),
    "jsonargparse": (WORDS, _jsonargparse),
}
"""Packages: what their names are told to be, and these names."""
