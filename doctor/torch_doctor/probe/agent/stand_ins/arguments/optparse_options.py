"""Options of `optparse` that the script gives up without, and those that its documentation gives."""

from __future__ import annotations

import functools
import optparse
import sys
from typing import TYPE_CHECKING, Any

from .. import told
from ..demands import wanted
from ..project_files import configuration
from ..stand_in import StandIn
from .argparse_options import GOING_ON
from .documented import said_of, value_of
from .values import WHY, made_up, names_configuration

if TYPE_CHECKING:
    from collections.abc import Iterator

KINDS: dict[str | None, Any] = {"int": int, "long": int, "float": float}


class OptparseOptions(StandIn):
    """Fills what the script wants to be given."""

    replaces = "required argument"
    voids = (told.ARGUMENTS,)

    def prepare(self) -> None:
        """Patches `optparse`."""
        library: Any = optparse.OptionParser
        parse = library.parse_args

        @functools.wraps(parse)
        def parse_args(parser: Any, args: Any = None, values: Any = None) -> Any:
            if self.sources.called_by_user() and (args is None or list(args) == sys.argv[1:]):
                given = list(sys.argv[1:])
                args = [*given, *self._missing(parser, given)]
            return parse(parser, args, values)

        library.parse_args = parse_args

    def _missing(self, parser: Any, given: list[str]) -> Iterator[str]:
        for option in parser.option_list:
            names = [*option._short_opts, *option._long_opts]
            left = option.takes_value() and parser.defaults.get(option.dest) in (None, "")
            if not left or any(word.partition("=")[0] in names for word in given):
                continue
            value = self._value(option, names, documents=not given)
            if value is not None:
                self.tell(f"{names[-1]} {value}", said_of(value), why=WHY)
                yield from (names[-1], str(value))

    def _value(self, option: Any, names: list[str], *, documents: bool) -> str | None:
        """What an option is given; None where the script goes on without it."""
        kind = KINDS.get(option.type)
        learnt = option.dest in self.learnt.names("argument")
        value = self.learnt.of("argument", option.dest) if learnt else None
        if value is not None:
            return str(value)
        configures = names_configuration(option.dest) and configuration(self.sources, option.dest) is not None
        asked = learnt or wanted(self.sources, option.dest)
        if asked or (configures and self.learnt.names("argument")):
            return made_up(option.dest, kind, list(option.choices or ()), option.help or "", self.sources)
        if not documents or any(word in option.dest.lower() for word in GOING_ON):
            return None
        return value_of(self.sources, names, kind, option.choices or ())
