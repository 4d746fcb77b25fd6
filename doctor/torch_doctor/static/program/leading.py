"""Which functions of a file lead to training, by what they call."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from torch_doctor.pattern import pattern
from torch_doctor.static.program.expressions import Attribute, Call, Name
from torch_doctor.static.program.walking import walk

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from torch_doctor.static.program.functions import Function

_TRAINS = pattern(r"backward$|zero_grad$|step$|_*(?:train|fit|learn)(?![a-z])|\w*Trainer$", re.ASCII)
"""What is called where something trains. It decides how many steps are kept for what follows, and never what is found."""


def leading(functions: Iterable[Function]) -> frozenset[Function]:
    """Return those functions of a file that train, or that call one which does, by the last names of what they call."""
    called = {each: set(_called(each)) for each in functions}
    found = {each for each, names in called.items() if any(map(_TRAINS.match, names))}
    size = -1
    while size != len(found):
        size = len(found)
        names = {each.name for each in found}
        found.update(each for each, others in called.items() if names & others)
    return frozenset(found)


def _called(function: Function) -> Iterator[str]:
    """The last names of all that a function calls."""
    for node in walk(function.body):
        if isinstance(node, Call):
            if isinstance(node.func, Attribute):
                yield node.func.name
            elif isinstance(node.func, Name):
                yield node.func.id
