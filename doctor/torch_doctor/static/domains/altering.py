"""Samples that were made of others, each of one: with noise, a factor, turned round, or read again in another way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from torch_doctor.static import program as p
from torch_doctor.static.domains.rows import identity
from torch_doctor.static.tables import data, words
from torch_doctor.static.tables.canonical import canonical
from torch_doctor.static.tables.datasets import TENSORS
from torch_doctor.static.training import row_reading
from torch_doctor.static.values import (
    ARRAY,
    Const,
    Fact,
    FunctionValue,
    Instance,
    Making,
    Plain,
    Sequence,
    Tensor,
    Tool,
)

if TYPE_CHECKING:
    from torch_doctor.static.values import Value

_ALTERS: Final = frozenset(
    words("+ - * / add sub mul div flip fliplr flipud roll clamp clip abs neg negative float double half to type")
)
"""What gives each row with other numbers, where it is computed of one tensor and of numbers or noise."""
_NOISE: Final = frozenset(words("randn rand randn_like rand_like normal randint_like uniform standard_normal"))


def made_of(value: Value) -> Making | None:
    """How a tensor or an array was made; None where that is not known."""
    if isinstance(value, Plain) and value.size is not None and value.size.name == ARRAY:
        value = value.size.args[0]
    made = value.meta if isinstance(value, Tensor) else None
    return made if isinstance(made, Making) else None


def alters(made: Making) -> bool:
    """Whether each row has other numbers, which say as much of what it belongs to."""
    if made.name == "[]":
        parts = made.args[1].content.items if isinstance(made.args[1], Sequence) else ()
        keys = made.of.items if isinstance(made.of, p.Display) and made.of.kind == "tuple" else ()
        return bool(parts) and all(isinstance(key, p.Slice) for key in keys) and _is_whole(keys[0])
    if made.name in _NOISE:
        return False
    return made.name in _ALTERS and all(
        _is_noise(each) or isinstance(each, (Plain, Sequence)) for each in made.args[1:]
    )


def _is_whole(key: p.Node) -> bool:
    return isinstance(key, p.Slice) and key.lower is key.upper is None


def _is_noise(value: Value) -> bool:
    """Whether a value is a number, or noise, perhaps in another range."""
    made = made_of(value)
    if made is not None and made.name in ("*", "/", "mul", "div"):
        return any(map(_is_drawn, made.args)) and all(map(_is_noise, made.args))
    return isinstance(value, Const) or _is_drawn(value)


def _is_drawn(value: Value) -> bool:
    made = made_of(value)
    return made is not None and made.name.rpartition(".")[2] in _NOISE


def wrapped(value: Value) -> Value | None:
    """The data set that another one reads row by row, as many as there are; None where that is not known."""
    length = value.cls.find("__len__") if isinstance(value, Instance) else None
    if not isinstance(value, Instance) or length is None or not isinstance(length[0], FunctionValue):
        return None
    body = length[0].node.body
    given = body[0].value if len(body) == 1 and isinstance(body[0], p.Return) else None
    counted = given.args[0] if isinstance(given, p.Call) and len(given.args) == 1 else None
    names = [each for each in value.fields.values() if isinstance(each, (Tool, Instance))]
    held = value.fields.get(counted.name) if isinstance(counted, p.Attribute) else None
    return held if isinstance(held, (Tool, Instance)) and len(names) == 1 and not row_reading.draws(value) else None


def key(value: Value) -> str:
    """What identifies the rows that a data set reads; "" where that is not known."""
    if isinstance(value, Instance):
        drawn = row_reading.draws(value) or value.fact(Fact.DREW) is not False
        args, keywords = value.fact(Fact.ARGUMENTS)
        return "" if drawn else identity.key(value.cls.name, args, keywords, identity.state(value))
    if isinstance(value, Tool) and canonical(value.name) not in data.SUBSETS | data.CONCATENATIONS | {TENSORS}:
        return identity.key(value.name, value.args, value.keywords)
    return ""
