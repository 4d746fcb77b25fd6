"""Copies objects as `copy.deepcopy` does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.flow import Flow
from torch_doctor.static.library import library_family
from torch_doctor.static.tables import training
from torch_doctor.static.values import (
    Call,
    Content,
    Either,
    Fact,
    Mapping,
    Module,
    Object,
    ParameterValue,
    Params,
    Sequence,
    Tensor,
    Unknown,
    Value,
    either,
)

if TYPE_CHECKING:
    from torch_doctor.static import program as p
    from torch_doctor.static.run import Run

_HELD_OUT = 20


@library_family(training.COPIES)
def copy(run: Run, _: str, call: Call) -> Value | None:
    """A function that copies what it is given."""
    return copied(run, call.args[0], call.node) if call.args else None


def copied(run: Run, value: Value, node: p.Node, seen: dict[int, Value] | None = None) -> Value:
    """`copy.deepcopy`: new objects of the same shape."""
    seen = {} if seen is None else seen
    if isinstance(value, Object) and value.id in seen:
        return seen[value.id]
    if isinstance(value, Module):
        copy: Module = run.own(
            Module(
                run.site(node),
                cls=value.cls,
                layer=value.layer,
                table=value.table,
                sensitive=value.sensitive,
                name=value.name,
                given=value.given,
                settings=value.settings,
            )
        )
        seen[value.id] = copy
        for key, item in value.fields.items():
            copy.fields[key] = copied(run, item, node, seen) if isinstance(item, Value) else item
        copy.facts.update(value.facts)
        owner, content = value.fact(Fact.OWNER), value.fact(Fact.LISTED)
        if content is not None:
            copy.facts[Fact.LISTED] = _copied_content(run, content, node, seen)
        if owner is not None:
            copy.facts[Fact.OWNER] = copied(run, owner, node, seen)
        if len(seen) == 1:
            copy.facts.pop(Fact.REGISTERED, None)
        return copy
    if isinstance(value, Either):
        return either((facts, copied(run, option, node, seen)) for facts, option in value.options)
    if isinstance(value, ParameterValue):
        leaf: ParameterValue = run.own(ParameterValue(value.born, declared=value.declared))
        seen[value.id] = leaf
        leaf.facts.update(value.facts)
        return leaf
    if isinstance(value, Tensor):
        return value.with_flow(value.flow)
    if isinstance(value, Mapping) and len(seen) < _HELD_OUT:
        twin: Mapping = run.own(Mapping(run.site(node), run.frame.what))
        seen[value.id] = twin
        twin.fields.update(
            {
                key: copied(run, item, node, seen) if isinstance(item, Value) else item
                for key, item in value.fields.items()
            }
        )
        return twin
    if isinstance(value, Sequence) and len(seen) < _HELD_OUT:
        content = _copied_content(run, value.content, node, seen)
        return run.own(Sequence(value.kind, content, run.site(node), value.function))
    if isinstance(value, Params):
        return Tensor() if value.cut else Unknown(Flow(graph=None))
    return value


def _copied_content(run: Run, content: Content, node: p.Node, seen: dict[int, Value]) -> Content:
    items = tuple(copied(run, item, node, seen) for item in content.items)
    return Content(items, None if content.rest is None else copied(run, content.rest, node, seen))
