"""What a forward returned once, for arguments that look alike: the result is the same, their histories are not."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from torch_doctor.static.values import Content, Either, Mapping, Sequence, Tensor, Unknown, Value, either

if TYPE_CHECKING:
    from torch_doctor.static.executor import Executor
    from torch_doctor.static.flow import Flow

_HISTORIES = ("forwards", "graph_forwards", "retained", "modules", "cuts", "parts")


def of_other_arguments(run: Executor, result: Value, before: Flow, now: Flow) -> Value:
    """The result for arguments with the history `now`, from what was returned for those with the history `before`."""
    changed = {name for name in _HISTORIES if getattr(before, name) != getattr(now, name)}
    if before.loader != now.loader or before.source is not now.source:
        changed.add("loader")
    return _with(run, result, before, now, changed) if changed else result


def _with(run: Executor, value: Value, before: Flow, now: Flow, changed: set[str]) -> Value:
    if isinstance(value, Either):
        return either((facts, _with(run, option, before, now, changed)) for facts, option in value.options)
    if isinstance(value, Sequence):
        content = value.content
        items = tuple(_with(run, item, before, now, changed) for item in content.items)
        rest = None if content.rest is None else _with(run, content.rest, before, now, changed)
        return run.own(Sequence(value.kind, Content(items, rest), value.born, value.function))
    if isinstance(value, Mapping):
        mapping: Mapping = run.own(Mapping(value.born, value.function))
        for key, item in value.fields.items():
            mapping.fields[key] = _with(run, item, before, now, changed)
        return mapping
    if isinstance(value, Tensor):
        flow = _moved(value.flow, before, now, changed)
        return value if flow is value.flow else value.with_flow(flow)
    if type(value) is Unknown:
        flow = _moved(value.flow, before, now, changed)
        return value if flow is value.flow else Unknown(flow, value.holds, place=value.place)
    return value


def _moved(flow: Flow, before: Flow, now: Flow, changed: set[str]) -> Flow:
    """The history of a value that was computed of the arguments; one that was not stays as it is."""
    fields: dict[str, Any] = {}
    for name in changed & set(_HISTORIES):
        own, old = getattr(flow, name), getattr(before, name)
        if own & old:
            fields[name] = (own - old) | getattr(now, name)
    if "loader" in changed and (flow.source, flow.loader) == (before.source, before.loader):
        fields["source"], fields["loader"] = now.source, now.loader
    return replace(flow, **fields) if fields else flow
