"""What gflags and absl have for a command line: flags that are defined by name, and read off one object."""

from __future__ import annotations

import argparse
import logging
import sys
import types
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

YES = frozenset({"1", "true", "t", "yes", "y"})


class DefinedFlags:
    """The flags of a program: called with its words it reads them, and each is an attribute."""

    def __init__(self) -> None:
        vars(self)["_parser"] = argparse.ArgumentParser(allow_abbrev=False)
        vars(self)["_values"] = {}

    def define(self, name: str, default: Any, told: str | None = None, *_: Any, **parts: Any) -> Any:
        """Adds one, with the value that it has by default."""
        off = [f"--no{name}"] if isinstance(default, bool) else []
        self._parser.add_argument(
            f"--{name}", dest=name, default=default, help=(told or "").replace("%", "%%"), **parts
        )
        for each in off:
            self._parser.add_argument(each, dest=name, action="store_false", help=argparse.SUPPRESS, default=default)
        self._values[name] = default
        return types.SimpleNamespace(name=name, default=default, value=default)

    def __call__(self, argv: Any = None, *_: Any, **__: Any) -> list[str]:
        """The words that are no flags."""
        words = list(sys.argv if argv is None else argv)
        own = words[1:] == sys.argv[1:]
        given, rest = self._parser.parse_known_args(None if own else words[1:])
        self._values.update(vars(given))
        return [*words[:1], *rest]

    def __getattr__(self, name: str) -> Any:
        if name not in self._values:
            raise AttributeError(name)
        return self._values[name]

    def __setattr__(self, name: str, value: Any) -> None:
        self._values[name] = value

    def __getitem__(self, name: str) -> Any:
        return types.SimpleNamespace(name=name, value=self._values[name])

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def flag_values_dict(self) -> dict[str, Any]:
        """The values by name."""
        return dict(self._values)

    FlagValuesDict = flag_values_dict


def _truth(word: Any) -> bool:
    return str(word).lower() in YES


def _words(word: Any) -> list[str]:
    return word if isinstance(word, list) else [each.strip() for each in str(word).split(",") if each.strip()]


def _defining(flags: DefinedFlags) -> dict[str, Callable[..., Any]]:
    def of(reader: Any, **parts: Any) -> Callable[..., Any]:
        def define(name: str, default: Any = None, help: Any = None, *_: Any, **__: Any) -> Any:  # noqa: A002 - its name
            known = default if default is None or reader is str or isinstance(default, list) else reader(default)
            return flags.define(name, known, help, type=reader, **parts)

        return define

    def enum(name: str, default: Any, enum_values: Any, help: Any = None, *_: Any, **__: Any) -> Any:  # noqa: A002
        return flags.define(name, default, help, choices=list(enum_values))

    def several(name: str, default: Any, help: Any = None, *_: Any, **__: Any) -> Any:  # noqa: A002 - its name
        known = default if default is None or isinstance(default, list) else [default]
        return flags.define(name, known, help, action="append")

    boolean = of(_truth, nargs="?", const=True)
    return {
        "DEFINE_string": of(str),
        "DEFINE_integer": of(int),
        "DEFINE_float": of(float),
        "DEFINE_bool": boolean,
        "DEFINE_boolean": boolean,
        "DEFINE_list": of(_words),
        "DEFINE_spaceseplist": of(str.split),
        "DEFINE_enum": enum,
        "DEFINE_multi_string": several,
        "DEFINE_multi_integer": several,
        "mark_flag_as_required": lambda name, *_, **__: _require(flags, [name]),
        "mark_flags_as_required": lambda names, *_, **__: _require(flags, names),
    }


def _require(flags: DefinedFlags, names: Iterable[str]) -> None:
    for action in flags._parser._actions:
        if action.dest in names and action.default is None:
            action.required = True


def _names() -> dict[str, Any]:
    flags = DefinedFlags()
    error = type("Error", (Exception,), {})
    return {"FLAGS": flags, "FlagsError": error, "Error": error, **_defining(flags)}


def _absl() -> dict[str, Any]:
    names = _names()

    def run(main: Callable[[list[str]], Any], argv: Any = None, *_: Any, **__: Any) -> None:
        sys.exit(main(names["FLAGS"](argv)))

    log = logging.getLogger("absl")
    levels = {"INFO": logging.INFO, "WARNING": logging.WARNING, "ERROR": logging.ERROR, "DEBUG": logging.DEBUG}
    said = {name: getattr(log, name) for name in ("info", "warning", "error", "debug", "exception", "fatal", "log")}
    set_verbosity = {"set_verbosity": log.setLevel, "use_absl_handler": lambda: None, "get_absl_handler": lambda: None}
    return {
        "flags": types.SimpleNamespace(**names),
        "app": types.SimpleNamespace(run=run, UsageError=names["Error"]),
        "logging": types.SimpleNamespace(**levels, **said, **set_verbosity),
    }


WORDS = "flags that argparse reads"
NAMES: dict[str, tuple[str, Any]] = {"gflags": (WORDS, _names), "absl": (WORDS, _absl)}
"""Packages: what their names are told to be, and these names."""
