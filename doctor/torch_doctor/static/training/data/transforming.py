"""What transforms make of pictures: those of libraries, and functions of the project among them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from torch_doctor.static.budget import OutOfBudget
from torch_doctor.static.domains import channels
from torch_doctor.static.domains.channels import UNTOLD, PictureOf, numbers_in
from torch_doctor.static.domains.scale import ScaleOf
from torch_doctor.static.domains.scales import Transformed
from torch_doctor.static.flow import Flow
from torch_doctor.static.library import library_family
from torch_doctor.static.tables import channels as channel_table
from torch_doctor.static.tables import pixels as table
from torch_doctor.static.tables import words
from torch_doctor.static.tables.canonical import canonical
from torch_doctor.static.training import collating, pixels
from torch_doctor.static.values import (
    Bound,
    Call,
    Const,
    FunctionValue,
    Instance,
    Making,
    Mapping,
    Partial,
    Plain,
    Sequence,
    Tensor,
    Tool,
    Unknown,
    Value,
)
from torch_doctor.static.values.shapes import UNKNOWN_META
from torch_doctor.static.values.symbols import PICTURE
from torch_doctor.trace import Source

if TYPE_CHECKING:
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Symbol

STEPS: Final = 200
"""Steps that the look at one image of a library's data set may take."""
_DOES: Final = (Tool, FunctionValue, Bound, Partial, Instance)
"""What may be a transform."""
_TWO: Final = ("mean", "std")
_OPEN: Final = frozenset(words("ToPILImage ToTensor ToFloat FromFloat Sequential Compose"))
"""Transforms that may scale pictures, by what they are."""


@library_family(table.TRANSFORMING)
def of_library(run: Run, name: str, call: Call) -> Value | None:
    """What a function of a library makes of a picture that does the same as a transform; None for anything else."""
    if not call.args:
        return None
    given, *settings = call.args
    return _transformed(run, Tool(None, table.TRANSFORMING[name], args=tuple(settings), keywords=call.keywords), given)


def of_library_data(run: Run, data: Tool) -> Tensor | None:
    """An image of a library's data set as its transforms make it; None where they are not known."""
    later = data.fields.get("transform")
    given = (later,) if later is not None else (data.keywords.get("transform"), *data.args)
    transforms = [
        each for each in map(run.resolve, (v for v in given if isinstance(v, Value))) if isinstance(each, _DOES)
    ]
    if len(transforms) != 1 or data.born is None or "loader" in data.keywords:
        return None
    with run.aside(STEPS):
        try:
            made = _transformed(run, transforms[0], Plain(channels.symbol(data.born)))
        except OutOfBudget:
            return None
    return made if isinstance(made, Tensor) else None


def transformed(run: Run, transform: Tool, call: Call) -> Value | None:
    """What a transform makes of a picture: a tensor, or another picture; None for anything else."""
    given = call.argument(0)
    return _augmented(run, transform, call) if given is None else _transformed(run, transform, given)


def _transformed(run: Run, transform: Value, given: Value) -> Value | None:
    """The same for a transform that may do several things, some of them functions of the project."""
    if pixels.place_of(given) is None and run.ask(PictureOf, given) is None and run.ask(ScaleOf, given) is None:
        return None
    parts = _parts(run, transform)
    if all(isinstance(each, Tool) and not each.name.endswith(".Lambda") for each in parts):
        return _by_library(run, transform, given)
    value: Value | None = given
    for each in parts:
        own = (
            run.resolve(each.args[0])
            if isinstance(each, Tool) and each.name.endswith(".Lambda") and each.args
            else each
        )
        if isinstance(own, Tool):
            value = None if value is None else _by_library(run, own, value)
        elif isinstance(own, (FunctionValue, Bound, Partial, Instance)) and value is not None:
            node = collating.definition(own)
            value = None if node is None else run.resolve(run.call(own, Call((value,), {}, node)))
        else:
            return None
    return value


def _by_library(run: Run, transform: Value, given: Value) -> Value | None:
    """The same for transforms of libraries."""
    place, picture = pixels.place_of(given), run.ask(PictureOf, given)
    steps = _steps(run, transform)
    to_tensor = not table.TO_BYTES.isdisjoint(steps) or not table.TO_FLOATS.isdisjoint(steps)
    does = _does(run, transform, given)
    known = _of_steps(picture, given, steps, does, tensor=to_tensor or isinstance(given, Tensor))
    if to_tensor or isinstance(given, Tensor):
        bytes_at = pixels.of_transform(run, transform) if place is not None else None
        made = Tensor(Flow(source=Source.DATA)) if bytes_at is None else pixels.tensor(bytes_at)
        return made.with_meta(known) if isinstance(known, Making) else made if place is not None and to_tensor else None
    if place is not None and table.SPATIAL.issuperset(steps):
        return Plain(channels.symbol(place, UNTOLD if picture is None else picture.channels))
    return Plain(known) if isinstance(known, tuple) else None


def _augmented(run: Run, transform: Tool, call: Call) -> Value | None:
    """What albumentations makes of a picture beside other things; None where that is not known."""
    given = call.keywords.get("image")
    picture = run.ask(PictureOf, given)
    if given is None or picture is None or not canonical(transform.name).startswith("albumentations."):
        return None
    steps = _steps(run, transform)
    tensor = any(step.endswith(".ToTensorV2") for step in steps)
    known = _of_steps(picture, given, steps, _does(run, transform, given), tensor=tensor)
    if known is None:
        return None
    mapping: Mapping = run.own(Mapping(run.site(call.node), run.frame.what))
    mapping.fields["rest"] = Unknown()
    mapping.fields["key", "image"] = (
        Tensor(Flow(source=Source.DATA), meta=known) if isinstance(known, Making) else Plain(known)
    )
    return mapping


def _of_steps(
    picture: channels.Picture | None, given: Value, steps: list[str], does: Transformed, *, tensor: bool
) -> Making | Symbol | None:
    """What these transforms make of a picture: how a tensor is made, or the symbol of an array; None where one is not known."""
    known = all(
        step.startswith(channel_table.FAMILIES) and step.rpartition(".")[2] not in channel_table.MIXING
        for step in steps
    )
    if not known or does.read_at is None:
        return None
    if not tensor:
        known_channels = UNTOLD if picture is None else picture.channels
        if picture is not None and does.at is not None:
            known_channels = channels.scaled_by(picture, does.means, does.at).channels
        return channels.symbol(does.read_at, known_channels._replace(scale=does.scale), PICTURE)
    made = Making(channels.TRANSFORMED, (given,), of=does)
    made.answer = UNKNOWN_META
    return made


def _parts(run: Run, transform: Value, depth: int = 3) -> list[Value]:
    """What a transform does, one after the other."""
    transform = run.resolve(transform)
    inside = transform.args[0] if isinstance(transform, Tool) and transform.args else None
    joins = isinstance(transform, Tool) and canonical(transform.name) in table.JOINING
    if not joins:
        return [transform]
    if not isinstance(inside, Sequence) or inside.content.rest is not None or not depth:
        return [Unknown()]  # nobody knows what it does, or how often
    return [step for each in inside.content.all() for step in _parts(run, each, depth - 1)]


def _steps(run: Run, transform: Value) -> list[str]:
    """The names of what a transform does, in order."""
    return [canonical(each.name) if isinstance(each, Tool) else "" for each in _parts(run, transform)]


def _does(run: Run, transform: Value, given: Value) -> Transformed:
    """What a transform does to the numbers of what it is given."""
    scaled, picture = run.ask(ScaleOf, given), run.ask(PictureOf, given)
    scale = None if scaled is None else scaled.scale
    does = Transformed(read_at=scaled.site if scaled is not None else None if picture is None else picture.site)
    for each in _parts(run, transform):
        name = canonical(each.name) if isinstance(each, Tool) else ""
        if isinstance(each, Tool) and name.endswith(".Normalize"):
            mean, std = (
                each.args[at] if len(each.args) > at else each.keywords.get(key) for at, key in enumerate(_TWO)
            )
            does = does._replace(means=does.means or channels.numbers(mean), at=does.at or each.born)
            if scale is not None and name.startswith("albumentations."):
                scale = scale.computed("/", numbers_in(each.keywords.get("max_pixel_value", Const(255.0))))
            scale = None if scale is None else scale.normalised(numbers_in(mean), numbers_in(std))
        elif name in table.TO_FLOATS or (name in table.TO_DTYPE and not pixels.leaves_range(each)):
            scale = None if scale is None else scale.converted()
        elif name.rpartition(".")[2] in _OPEN:
            scale = None
    return does._replace(scale=scale)
