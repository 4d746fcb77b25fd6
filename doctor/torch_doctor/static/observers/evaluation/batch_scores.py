"""Where scores of single batches come from, and whether the loop over the batches is over."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.tables.canonical import canonical
from torch_doctor.static.training.module import written_forwards
from torch_doctor.static.values import Lib, Mapping, Method, Plain, Sequence, Tensor, Tool, UnknownAttribute
from torch_doctor.trace import LoopKind, ScopeKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Call, Value
    from torch_doctor.trace import Scope


def named_call(func: Value, call: Call) -> tuple[str, tuple[Value, ...]]:
    """The name of a function that is known, or of a method, and all that it is given; no name for an object of a library."""
    if isinstance(func, Method) and isinstance(func.of, Tensor):
        return f"torch.{func.name}", (func.of, *call.values)
    if isinstance(func, UnknownAttribute):
        return f"torch.{func.name}", (func.of, *call.values)
    if isinstance(func, Lib):
        return canonical(func.name), call.values
    if isinstance(func, Plain) and func.symbol[0] == "." and isinstance(func.symbol[1], tuple):
        return f"numpy.{func.symbol[2]}", (Plain(func.symbol[1]), *call.values)
    return "", call.values if isinstance(func, Tool) else ()


def parts_of(values: Iterable[Value]) -> Iterator[Value]:
    """Values, and those in a tuple, list or dict that was made for them."""
    for value in values:
        if isinstance(value, Sequence) and value.kind == "tuple":
            yield from value.content.items
        elif isinstance(value, Mapping):
            yield from (item for item in value.fields.values() if isinstance(item, (Tensor, Plain)))
        else:
            yield value


def loop_left(run: Run, forwards: frozenset[int]) -> int:
    """The loop over batches that a score of one of its batches is left of, not the first; 0 where it is not over."""
    scopes = {_batch(event.scope) for event in written_forwards.numbered(run, forwards)}
    scope = scopes.pop() if len(scopes) == 1 else None
    if scope is None or scope.number < 2 or any(each.loop == scope.loop for each in run.scope.iterations()):
        return 0
    return scope.loop


def _batch(scope: Scope) -> Scope | None:
    return next((each for each in reversed([*scope.iterations()]) if each.loop_kind is LoopKind.BATCHES), None)


def in_the_loop(scope: Scope | None, *, called: bool = False) -> bool:
    """Whether this lies in a loop over batches, and, unless `called`, in no function that is called there."""
    while scope is not None and (called or scope.kind is ScopeKind.ITERATION):
        if scope.loop_kind is LoopKind.BATCHES:
            return True
        scope = scope.parent
    return False
