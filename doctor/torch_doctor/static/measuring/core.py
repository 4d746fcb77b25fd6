"""From how a tensor was made to its dtype and shape: each operation has an effect, which is asked once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from msgspec.structs import replace

from torch_doctor.static.tables import shapes as table
from torch_doctor.static.values import (
    Const,
    Content,
    Either,
    Fact,
    ParameterValue,
    Plain,
    Sequence,
    Tensor,
    Value,
    number_dtype,
    shapes,
)
from torch_doctor.static.values.shapes import LONGEST, UNKNOWN_META, Making, Meta, Returned, Size

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch_doctor.static.values import Args, Keywords
    from torch_doctor.trace import Site, TensorFact

    Effect: TypeAlias = Callable[[Making], Meta]

EFFECTS: Final[dict[str, Effect]] = {}
"""What each operation makes of its arguments, by the bare name that function and method share; layers begin with `nn.`."""


def making(
    name: str, args: Args, keywords: Keywords | None = None, of: object = None, site: Site | None = None
) -> Making | None:
    """How something is made, where that tells its dtype or shape; None where it does not, or would take long to tell."""
    if name not in EFFECTS and not is_in_place(name):
        return None
    now = tuple([_now(v) if isinstance(v, Sequence) else v for v in args])
    made = Making(name, now, keywords, of, site)
    return made if made.depth < LONGEST else None


def _now(value: Sequence) -> Sequence:
    """A list as it is now."""
    content = value.content
    if any(Fact.FILLED_UP in each.facts for each in content.all() if isinstance(each, Sequence)):
        rows = [_now(each) if isinstance(each, Sequence) else each for each in content.all()]
        items = len(content.items)
        content = Content(tuple(rows[:items]), rows[items] if len(rows) > items else None)
    copy = Sequence(value.kind, content)
    if Fact.GROWN in value.facts:
        copy.facts[Fact.GROWN] = value.facts[Fact.GROWN]
    if Fact.FILLED_UP in value.facts:
        copy.facts[Fact.FILLED_UP] = value.facts[Fact.FILLED_UP]
    return copy


def is_in_place(name: str) -> bool:
    """Whether a method of this name changes the numbers of its tensor, which keeps its dtype and shape."""
    return name.endswith("_") and not name.startswith("_") and name not in table.RESHAPING


def output(value: Tensor) -> Returned | Meta:
    """What is known of the output of a module for whoever called it: the operations within are the module's own."""
    within = value.meta.within if isinstance(value.meta, Returned) else value.meta
    return Returned(measured(value), within) if isinstance(within, Making) else measured(value)


def measured(value: Value) -> Meta:
    """What is known of a value as a tensor."""
    if isinstance(value, Tensor):
        meta = value.meta
        if isinstance(meta, Making):
            if meta.answer is None:
                meta.answer = EFFECTS.get(meta.name, first_of)(meta)
            meta = meta.answer
        elif isinstance(meta, Returned):
            meta = meta.known
        return meta or UNKNOWN_META
    if isinstance(value, ParameterValue):
        meta = measured(Tensor(meta=value.fact(Fact.MADE)))
        return Meta("floating" if shapes.is_floating(meta.dtype) else "", meta.shape)  # a module may convert it
    if isinstance(value, Const):
        return Meta(number_dtype(value), () if isinstance(value.value, (int, float)) else None)
    if isinstance(value, Plain):
        if value.size is not None and value.size.name == shapes.ARRAY:
            return measured(value.size.args[0])
        dtype = number_dtype(value)
        known = value.size is None or bool(dtype) or value.size.name == shapes.READ
        return Meta(dtype, ()) if known else UNKNOWN_META  # a number, or a method or another part of an array
    if isinstance(value, Either):
        return one_of([option for _, option in value.options])
    return UNKNOWN_META


def first_of(made: Making) -> Meta:
    """What is known of the first argument, which is a tensor: one that may be anything is none of the numbers."""
    if not made.args or (type(made.args[0]) is Plain and made.args[0].size is None):
        return UNKNOWN_META
    return measured(made.args[0])


def one_of(options: list[Value]) -> Meta:
    """What holds of all the options."""
    found = [measured(option) for option in options]
    dtype = found[0].dtype if len({meta.dtype for meta in found}) == 1 else ""
    if not dtype and all(shapes.is_floating(meta.dtype) for meta in found):
        dtype = "floating"
    shape = found[0].shape
    for meta in found[1:]:
        shape = shapes.joined(shape, meta.shape)
    return Meta(dtype, shape)


def size_at(value: Value) -> Size:
    """A number that is a size; None where it is not known."""
    if isinstance(value, Const):
        return value.value if isinstance(value.value, int) and not isinstance(value.value, bool) else None
    if isinstance(value, Plain) and value.size is not None and value.size.name == "size":
        shape = measured(value.size.args[0]).shape
        position = None if shape is None else shapes.place(shape, value.size.of)
        return shape[position] if shape is not None and position is not None else None
    return None


def with_facts(fact: TensorFact, value: Value) -> TensorFact:
    """The fact with the value's dtype and shape."""
    meta = measured(value)
    return replace(fact, dtype=meta.dtype, shape=meta.shape) if meta != UNKNOWN_META else fact
