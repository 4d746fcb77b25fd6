"""Pictures as they are stored: what reads them, what leaves their range, and the layers that get them so.

An array that has such numbers is told by its symbol, a tensor by its kind: what computes with them gives another one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.domains import channels
from torch_doctor.static.domains.channels import PictureOf
from torch_doctor.static.domains.scale import ScaleOf
from torch_doctor.static.flow import Flow
from torch_doctor.static.knowledge import Knowledge, Lasting
from torch_doctor.static.library import library_family
from torch_doctor.static.state import per_path, per_run
from torch_doctor.static.tables import pixels as table
from torch_doctor.static.tables import torch_functions
from torch_doctor.static.tables.canonical import canonical
from torch_doctor.static.training import channel_order
from torch_doctor.static.training.data.arrays import dtype_named
from torch_doctor.static.values import (
    NOWHERE,
    Call,
    Const,
    Fact,
    Lib,
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
from torch_doctor.static.values.symbols import PICTURE, PIXELS
from torch_doctor.trace import Kind, PixelsGiven, Source

if TYPE_CHECKING:
    from torch_doctor.static import program as p
    from torch_doctor.static.domains.scales import Scale
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
    place, picture, scaled = place_of(of), run.ask(PictureOf, of), run.ask(ScaleOf, of)
    site = place or (scaled.site if scaled is not None else picture.site if picture is not None else None)
    if site is None:
        return None
    then = channels.after(picture, name, call)
    turned = picture is not None and then.order != picture.channels.order and then.scale != picture.channels.scale
    scale = then.scale if turned else None if scaled is None else _cast(scaled.scale, name, call)
    word = PICTURE if place is None else PIXELS
    result = plain_from(values, channels.symbol(site, then._replace(scale=scale), word))
    channel_order.put_into(run, name, call, result)
    return result


def _cast(scale: Scale, name: str, call: Call) -> Scale:
    """How a picture is scaled after a function that leaves its numbers, and may give it another dtype."""
    given = call.keywords.get("dtype") or (call.argument(0, "dtype") if name == ".astype" else None)
    if given is None and name.rpartition(".")[2] in ("array", "asarray") and len(call.args) > 1:
        given = call.args[1]
    return scale if given is None else scale._replace(whole=scale.whole and dtype_named(given) == "uint8")


def method(run: Run, func: Plain, call: Call) -> Value | None:
    """A method of an array or a picture that leaves its range; None for anything else."""
    symbol = func.symbol
    if symbol[0] != "." or call.method not in table.KEEPING_METHODS:
        return None
    return _kept(run, Plain(symbol[1]), f".{call.method}", call, (func,))


def calculated(op: str, operands: Args, result: Value) -> Value:
    """What an operator makes of numbers and arrays: of a picture, its symbol says how it is scaled."""
    symbol = None
    if isinstance(result, Plain) and result.symbol[0] != PICTURE:
        symbol = channels.calculated(op, operands)
    return result if symbol is None else plain_from((result,), symbol, size=result.size)  # type: ignore[attr-defined]


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
        elif not leaves_range(step):
            return None
    return place if content.rest is None else None


def leaves_range(step: Value) -> bool:
    """Whether a transform leaves the numbers of a picture in their range."""
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
    given = isinstance(value, Plain) and (value.symbol[0] == PICTURE or run.ask(PictureOf, value) is not None)
    if given or (place_of(value) is not None and not isinstance(value, Sequence)):
        now = value.altered(kind=Kind.UNKNOWN) if isinstance(value, Tensor) else Plain()
        run.heap.change(value, now)


def rescaled(value: Value) -> Value:
    """A picture of which nobody knows any more how it is scaled."""
    if not isinstance(value, Plain) or value.symbol[0] != PICTURE:
        return Unknown()
    word, site, _, *known = value.symbol
    channels_now = channels.Channels(*known)._replace(scale=None)
    return plain_from((value,), channels.symbol(site, channels_now, word), size=value.size)


def scaled(holder: Value, new: Value) -> bool:
    """Whether an assignment to some items of pictures may have changed their range."""
    stored = place_of(holder) is not None or (isinstance(holder, Plain) and holder.symbol[0] == PICTURE)
    return stored and not isinstance(new, Const) and place_of(new) is None
