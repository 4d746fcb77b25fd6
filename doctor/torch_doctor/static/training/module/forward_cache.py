"""What a forward returned once, for arguments that look alike: the result is the same, their histories are not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from torch_doctor.static.knowledge import Knowledge
from torch_doctor.static.measuring import measured
from torch_doctor.static.state import per_path, per_run
from torch_doctor.static.training import places
from torch_doctor.static.training.evaluation import modes
from torch_doctor.static.training.loss import language_models
from torch_doctor.static.values import (
    NOWHERE,
    Call,
    Const,
    Default,
    Fact,
    Lib,
    Module,
    Object,
    Plain,
    Tensor,
    Unknown,
    Value,
    reachable,
    rebuilt,
)

if TYPE_CHECKING:
    from collections.abc import MutableMapping

    from torch_doctor.static.flow import Flow
    from torch_doctor.static.run import Run
    from torch_doctor.trace import Tri


class Result(Struct, frozen=True):
    """What a forward returned."""

    output: Value
    newest: int  # the number of the newest object then
    given: Flow  # the history of its arguments
    caring: frozenset[tuple[Tri, Tri]]  # what it called that cares about the mode, and in which mode


class ForwardCache(Knowledge):
    """What calls of project modules returned, by what they were given; `trained` counts backward passes and steps."""

    trained: int = per_run(int)
    results: dict[Any, Result] = per_run(dict)
    objects: MutableMapping[Any, Result | None] = per_path(
        dict, agreed=True
    )  # those that hold objects: not there on another

    def count(self) -> None:
        """Something goes backward, or is stepped."""
        self.trained += 1

    def get(self, key: object) -> Result | None:
        """What was returned for this key, as far as it is there on this path."""
        return self.results.get(key) or self.objects.get(key)

    def keep(self, run: Run, key: object, result: Result) -> None:
        """Remember what was returned."""
        if any(isinstance(value, Object) and value.id > result.newest for value in reachable((result.output,))):
            self.objects[key] = result
        else:
            self.results[key] = result


def moment(run: Run) -> tuple[int, int]:
    """What a call that is remembered leaves as it is: all module trees, and how often something went backward or was stepped."""
    return run.heap.structure, run.of(ForwardCache).trained


def key(run: Run, module: Module, call: Call) -> tuple[Any, ...]:
    """What the execution of a `forward` depends on."""
    return (
        module.id,
        run.heap.structure,
        run.grad,
        modes.current_mode(run, module),
        tuple(call.keywords),
        *map(_shape, call.values),
        *(_where(run, value) for value in (module, *call.values)),
    )


def _where(run: Run, value: Value) -> tuple[str, ...]:
    """The devices that a thing may be on."""
    place = value.fact(Fact.ORIGIN) if isinstance(value, Module) else places.of(value)
    return () if place is NOWHERE else tuple(option.device for _, option in places.options(run, place))


def _shape(value: Value) -> Any:
    """What the execution of a `forward` can tell of an argument."""
    if isinstance(value, Default):
        return ("default", value.symbol)
    if isinstance(value, Const):
        try:
            hash(value.value)
        except TypeError:
            return id(value)
        return ("const", value.value)
    if isinstance(value, Plain):
        return "plain"
    if isinstance(value, Tensor):
        return (value.kind, value.scalar, value.origin.site, measured(value))
    if isinstance(value, Unknown):
        return "unknown"
    if isinstance(value, Object):
        return value.id
    if isinstance(value, Lib):
        return value.name
    return id(value)


_HISTORIES = ("forwards", "graph_forwards", "retained", "modules", "cuts", "parts", "lost")


def of_other_arguments(run: Run, result: Value, before: Flow, now: Flow) -> Value:
    """The result for arguments with the history `now`, from what was returned for those with the history `before`."""
    changed = {name for name in _HISTORIES if getattr(before, name) != getattr(now, name)}
    if before.loader != now.loader or before.source is not now.source:
        changed.add("loader")
    if not changed:
        return result
    return rebuilt(result, lambda value: _with(run, value, before, now, changed), run.own)


def _with(run: Run, value: Value, before: Flow, now: Flow, changed: set[str]) -> Value:
    if not isinstance(value, Tensor) and type(value) is not Unknown:
        return value
    flow = _moved(value.flow, before, now, changed)
    if flow is value.flow:
        return value
    if isinstance(value, Tensor):
        return value.with_flow(flow)
    return language_models.same(run, value, Unknown(flow, value.holds, origin=value.origin))


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
