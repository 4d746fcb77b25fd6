"""Pictures as they are stored: what reads them, what leaves their range, and the layers that get them so.

An array that has such numbers is told by its symbol, a tensor by its kind: what computes with them gives another one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.domains import channels
from torch_doctor.static.domains.channels import PICTURE, PIXELS, UNTOLD, PictureOf
from torch_doctor.static.flow import Flow
from torch_doctor.static.knowledge import Knowledge, Lasting
from torch_doctor.static.library import library_family
from torch_doctor.static.state import per_path, per_run
from torch_doctor.static.tables import pixels as table
from torch_doctor.static.tables import torch_functions
from torch_doctor.static.tables.canonical import canonical
from torch_doctor.static.training import channel_order
from torch_doctor.static.values import (
    NOWHERE,
    Call,
    Const,
    Fact,
    Lib,
    Making,
    Mapping,
    Meta,
    Module,
    Plain,
    Sequence,
    Tensor,
    Tool,
    Unknown,
    Value,
    leaves,
    plain_from,
)
from torch_doctor.trace import Kind, PixelsGiven, Source

if TYPE_CHECKING:
    from torch_doctor.static import program as p
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Args
    from torch_doctor.trace import Site


class Pictures(Knowledge):
    """Pictures that a layer got as they are."""

    read_at: Site | None = per_path()  # where the last one was read, while a module is called
    reader: int | None = per_path()


class Scaled(Lasting):
    """Where pictures were read of which numbers were changed in place since: of all, or of one channel after the other."""

    sites: set[Site] = per_run(set)


def place_of(value: Value) -> Site | None:
    """Where the picture was read whose numbers these are; None where they may be others."""
    if isinstance(value, Tensor):
        return value.origin.site if value.kind is Kind.PIXELS else None
    if isinstance(value, Sequence):
        places = [place_of(item) for item in leaves(value)]
        return places[0] if places and all(places) else None
    if not isinstance(value, Plain):
        return None
    symbol = value.symbol
    while symbol[0] == "[]":
        symbol = symbol[1]
    return symbol[1] if symbol[0] == PIXELS else None


def _draws_bytes(call: Call) -> bool:
    """Whether numbers from 0 to 255 are drawn, as bytes."""
    kind = call.keywords.get("dtype")
    high, named = call.argument(1, "high"), isinstance(kind, Lib) and kind.name in ("torch.uint8", "numpy.uint8")
    return named and isinstance(high, Const) and high.value in (table.BYTES - 1, table.BYTES)


@library_family(
    {*table.READERS, *table.PICTURES, *table.TENSOR_READERS, *table.DRAWS, *table.KEEPING}
    - {*torch_functions.FUNCTIONS}
)
def of_library(run: Run, name: str, call: Call) -> Value | None:
    """What reads a picture, or leaves one as it is; None for anything else."""
    if name in table.READERS or name in table.PICTURES:
        return Plain(channels.symbol(run.site(call.node), channels.read(name, call)))
    if name in table.TENSOR_READERS:
        return tensor(run.site(call.node))
    if name in table.DRAWS and _draws_bytes(call):
        return Plain(channels.symbol(run.site(call.node)))
    return _kept(run, call.args[0], name, call, call.args[:1]) if call.args and name in table.KEEPING else None


def _kept(run: Run, of: Value, name: str, call: Call, values: Args) -> Value | None:
    """What is made of a picture that leaves its range, or the order of its channels; None for anything else."""
    place, picture = place_of(of), run.ask(PictureOf, of)
    if place is None and picture is None:
        return None
    site = place or picture.site  # type: ignore[union-attr]  # one of both is there
    result = plain_from(
        values, channels.symbol(site, channels.after(picture, name, call), PICTURE if place is None else PIXELS)
    )
    channel_order.put_into(run, name, call, result)
    return result


def method(run: Run, func: Plain, call: Call) -> Value | None:
    """A method of an array or a picture that leaves its range; None for anything else."""
    symbol = func.symbol
    if symbol[0] != "." or call.method not in table.KEEPING_METHODS:
        return None
    return _kept(run, Plain(symbol[1]), f".{call.method}", call, (func,))


def tensor(site: Site, dtype: str = "uint8") -> Tensor:
    """A tensor of pictures that were read at a place."""
    return Tensor(Flow(source=Source.DATA), Kind.PIXELS, NOWHERE.by(site=site), meta=Meta(dtype, None))


def made(run: Run, name: str, call: Call, result: Value) -> Value:
    """A tensor that a function of torch made: of the numbers of a picture."""
    place = place_of(call.args[0]) if call.args and name in table.TENSORS else None
    if table.DRAWS.get(name) and _draws_bytes(call):
        place = run.site(call.node)
    if place is None or not isinstance(result, Tensor):
        return result
    return result.altered(kind=Kind.PIXELS, origin=result.origin.by(result.origin.operation, place))


def held(run: Run, of: Tool, name: str, node: p.Node) -> Value | None:
    """All pictures of a data set, where it has them as bytes; None for anything else."""
    sort = table.HELD.get(canonical(of.name)) if name == "data" else None
    if sort is None:
        return None
    return tensor(run.site(node)) if sort == "tensor" else Plain(channels.symbol(run.site(node)))


def of_transform(run: Run, value: Value | None) -> Site | None:
    """Where a transform makes bytes of a picture and nothing after it scales them; None where that is not known."""
    value = run.resolve(value) if value is not None else None
    if not isinstance(value, Tool):
        return None
    name = canonical(value.name)
    if name in table.TO_BYTES:
        return value.born
    if name not in table.COMPOSED or not value.args or not isinstance(value.args[0], Sequence):
        return None
    content = value.args[0].content
    place = None
    for item in content.all():
        step = run.resolve(item)
        made_here = of_transform(run, step)
        if made_here is not None:
            place = made_here
        elif not _leaves_range(step):
            return None
    return place if content.rest is None else None


def transformed(run: Run, transform: Tool, call: Call) -> Value | None:
    """What a transform makes of a picture: a tensor, or another picture; None for anything else."""
    given = call.argument(0)
    if given is None:
        return _augmented(run, transform, call)
    place, picture = place_of(given), run.ask(PictureOf, given)
    if place is None and picture is None:
        return None
    steps = _steps(run, transform)
    to_tensor = not table.TO_BYTES.isdisjoint(steps) or not table.TO_FLOATS.isdisjoint(steps)
    scale = _scale(run, transform)
    known = None if picture is None else channels.transformed(picture, given, steps, scale, tensor=to_tensor)
    if to_tensor:
        bytes_at = of_transform(run, transform) if place is not None else None
        made = Tensor(Flow(source=Source.DATA)) if bytes_at is None else tensor(bytes_at)
        return made.with_meta(known) if isinstance(known, Making) else made if place is not None else None
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
    known = channels.transformed(picture, given, steps, _scale(run, transform), tensor=tensor)
    if known is None:
        return None
    mapping: Mapping = run.own(Mapping(run.site(call.node), run.frame.what))
    mapping.fields["rest"] = Unknown()
    mapping.fields["key", "image"] = (
        Tensor(Flow(source=Source.DATA), meta=known) if isinstance(known, Making) else Plain(known)
    )
    return mapping


def _parts(run: Run, transform: Value, depth: int = 3) -> list[Value]:
    """What a transform does, one after the other."""
    transform = run.resolve(transform)
    inside = transform.args[0] if isinstance(transform, Tool) and transform.args else None
    joins = isinstance(transform, Tool) and canonical(transform.name) in table.JOINING
    if not joins or not isinstance(inside, Sequence) or not depth:
        return [transform]
    return [step for each in inside.content.all() for step in _parts(run, each, depth - 1)]


def _steps(run: Run, transform: Value) -> list[str]:
    """The names of what a transform does, in order."""
    return [canonical(each.name) if isinstance(each, Tool) else "" for each in _parts(run, transform)]


def _scale(run: Run, transform: Value) -> tuple[tuple[float, ...], Site | None] | None:
    """The means by which a transform normalises, and where that is written; None where it does not."""
    for each in _parts(run, transform):
        if isinstance(each, Tool) and canonical(each.name).endswith(".Normalize"):
            means = each.args[0] if each.args else each.keywords.get("mean")
            return channels.numbers(means), each.born
    return None


def _leaves_range(step: Value) -> bool:
    if not isinstance(step, Tool):
        return False
    name = canonical(step.name)
    if name in table.TO_DTYPE:
        scale = step.args[1] if len(step.args) > 1 else step.keywords.get("scale", Const(value=False))
        return isinstance(scale, Const) and not scale.value
    return name in table.SPATIAL


def met(run: Run, module: Module, given: Value | None) -> None:
    """A layer, or a model of a library or a part of it, gets its input: noted where that is a picture as it was stored.

    What normalises the output of that layer undoes the range: the weights in front of it have the same gradients for all.
    """
    layer, pictures = module.layer or module.fact(Fact.PART_OF), run.of(Pictures)
    if layer in table.NORMALIZING and isinstance(given, Tensor) and given.flow.modules == {pictures.reader}:
        pictures.read_at = None
    library = layer.startswith(table.MODELS)
    if pictures.read_at is None and isinstance(given, Tensor) and (library or layer in table.LAYERS):
        pictures.read_at, pictures.reader = place_of(given), None if library else module.id


def like(item: Tensor, made: Tensor) -> Tensor:
    """A tensor that was made of others: of pictures as they are stored, where these are."""
    if item.kind is Kind.PIXELS:
        return made.altered(kind=item.kind, origin=made.origin.by(made.origin.operation, item.origin.site))
    return made


def behind(module: Module, value: Tensor) -> Tensor:
    """What comes out of a layer that keeps the kind of its input: no picture any more, unless it only reshapes."""
    if value.kind is Kind.PIXELS and module.layer not in table.SHAPING:
        return value.altered(kind=Kind.UNKNOWN)
    return value


def called(run: Run, module: Module, name: str, node: p.Node) -> None:
    """A model was called as a whole: say that a layer of it got pictures as they are stored."""
    place, run.of(Pictures).read_at = run.of(Pictures).read_at, None
    if place is not None and place not in run.of(Scaled).sites:
        documented = module.layer.startswith(table.MODELS)
        run.emit(PixelsGiven, node, module=module.id, name=name, documented=documented, read_at=place)


def changed(run: Run, value: Value) -> None:
    """A method changes numbers where they are: what was read there is scaled by now, perhaps."""
    place = place_of(value)
    if place is not None:
        run.of(Scaled).sites.add(place)


def disturbed(run: Run, value: Value) -> None:
    """Somebody out of sight got pictures, and may have scaled them where they are, or exchanged their channels."""
    given = isinstance(value, Plain) and run.ask(PictureOf, value) is not None
    if given or (place_of(value) is not None and not isinstance(value, Sequence)):
        now = value.altered(kind=Kind.UNKNOWN) if isinstance(value, Tensor) else Plain()
        run.heap.change(value, now)


def scaled(holder: Value, new: Value) -> bool:
    """Whether an assignment to some items of pictures may have changed their range."""
    return place_of(holder) is not None and not isinstance(new, Const) and place_of(new) is None
