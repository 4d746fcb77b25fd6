"""Flags of absl that must be given and were not."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, Any

from ...imports import after
from .. import told
from ..stand_in import StandIn
from .documented import said_of
from .values import WHY, made_up

if TYPE_CHECKING:
    from types import ModuleType

NAMED = re.compile(r"[Ff]lag --(\w+)")
KINDS = {"int": int, "float": float, "bool": bool}
MOST_FLAGS = 30


class AbslFlags(StandIn):
    """Fills flags that a validator refuses to leave at None."""

    replaces = "required argument"
    voids = (told.ARGUMENTS,)

    def prepare(self) -> None:
        """Patches absl's flags when they are imported."""
        after("absl.flags._flagvalues", functools.partial(_patch, self))


def _patch(stand_in: StandIn, module: ModuleType) -> None:
    values: Any = vars(module)["FlagValues"]
    call = values.__call__

    @functools.wraps(call)
    def called(self: Any, argv: Any, *arguments: Any, **keywords: Any) -> Any:
        words = list(argv)
        for name in stand_in.learnt.names(
            "argument"
        ):  # those that an earlier attempt gave up without, or did not train
            value = stand_in.learnt.of("argument", name)
            left = name in self and (self[name].value is None or value is not None)
            if left and not any(word.startswith(f"--{name}") for word in words):
                words.append(f"--{name}={_value(self[name], name, stand_in) if value is None else value}")
        for _ in range(MOST_FLAGS):
            try:
                return call(self, words, *arguments, **keywords)
            except Exception as error:
                found = NAMED.search(str(error))
                if type(error).__name__ != "IllegalFlagValueError" or found is None or self[found[1]].value is not None:
                    raise
                name = found[1]
            words.append(f"--{name}={_value(self[name], name, stand_in)}")
        return call(self, words, *arguments, **keywords)

    values.__call__ = called


def _value(flag: Any, name: str, stand_in: StandIn) -> str:
    kind = KINDS.get(str(flag.flag_type()))
    choices = list(getattr(flag.parser, "enum_values", None) or ())
    value = made_up(name, kind, choices, flag.help or "", stand_in.sources)
    stand_in.tell(f"--{name}={value}", said_of(value), why=WHY)
    return value
