"""Takes values apart for several targets: `x, y = pair`, `first, *others = items`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static import program as p
from torch_doctor.static.language import containers, shape_items
from torch_doctor.static.training import places
from torch_doctor.static.training.data import batch_parts
from torch_doctor.static.training.loss import language_models
from torch_doctor.static.values import (
    Const,
    Content,
    Either,
    Module,
    Plain,
    Sequence,
    Unknown,
    Value,
    held,
    plain_from,
    summary,
)

if TYPE_CHECKING:
    from torch_doctor.static.run import Run


def unpack(run: Run, value: Value, targets: tuple[p.Expr, ...], node: p.Node) -> list[Value]:
    """Take a value apart for several targets."""
    value = run.resolve(value)
    if any(isinstance(target, p.Star) for target in targets):
        value = shape_items.listed(value)
    if isinstance(value, Either):
        parts = [unpack(run, option, targets, node) for _, option in value.options]
        return [summary(column) for column in zip(*parts, strict=True)]
    if isinstance(value, (Sequence, Module)):
        return _unpack_items(run, containers.content_of(run, value), targets, node)
    return [
        run.own(Sequence("list", Content((), part), run.site(node), run.frame.what))
        if isinstance(target, p.Star)
        else part
        for target, part in zip(targets, _unpack_unknown(run, value, targets), strict=True)
    ]


def _unpack_unknown(run: Run, value: Value, targets: tuple[p.Expr, ...]) -> list[Value]:
    """Parts of something of which the number of elements is not known; a star gets some like the one in its place."""
    length = len(targets)
    if isinstance(value, Plain) and value.size is not None and value.size.name == "shape":
        star = next((number for number, target in enumerate(targets) if isinstance(target, p.Star)), length)
        keys = [Const(number if number < star else number - length) for number in range(length)]
        return [Plain() if number == star else shape_items.size_at(value, key) for number, key in enumerate(keys)]
    if isinstance(value, Unknown) and length > 1 and (value.flow.forwards or language_models.has_loss(run, value)):
        where = places.part(value.origin)
        flows = (language_models.taken(run, value, number, value.flow.part(number)) for number in range(length))
        parts = (language_models.part(run, value, number) for number in range(length))
        pairs = zip(parts, flows, strict=True)
        return [part or Unknown(flow, held((value,)), origin=where) for part, flow in pairs]
    if isinstance(value, Unknown) and isinstance(containers.element_of(run, value), Sequence):
        return [Unknown(value.flow, value.holds, origin=value.origin) for _ in range(length)]
    return [batch_parts.taken(run, value, containers.element_of(run, value)) for _ in range(length)]


def _unpack_items(run: Run, content: Content, targets: tuple[p.Expr, ...], node: p.Node) -> list[Value]:
    starred = next((i for i, target in enumerate(targets) if isinstance(target, p.Star)), None)
    if content.rest is None and starred is None and len(content.items) == len(targets):
        return list(content.items)
    if content.rest is None and starred is not None and len(content.items) >= len(targets) - 1:
        tail = len(targets) - starred - 1
        items = content.items
        middle = items[starred : len(items) - tail]
        rest = run.own(Sequence("list", Content(middle), run.site(node), run.frame.what))
        return [*items[:starred], rest, *items[len(items) - tail :]]
    one = summary(content.all()) if content.all() else Unknown()
    return [_another(one) for _ in targets]


def _another(one: Value) -> Value:
    """What one of several items is: a setting, or something that is not known, is another one at each place."""
    if type(one) is Unknown:
        return Unknown(one.flow, one.holds, origin=one.origin)
    return plain_from((one,), size=one.size) if isinstance(one, Plain) else one
