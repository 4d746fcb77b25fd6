"""The places of forwards: the pass over data, the function and the line that they belong to."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from torch_doctor.trace import Backward, LoopKind, ScopeKind

if TYPE_CHECKING:
    from torch_doctor.trace import Event, Forward, Scope, Site, Trace

Place: TypeAlias = "tuple[Site, ...]"


def batch_of(forward: Forward) -> Scope | None:
    """The iteration of the pass over data: of the innermost loop over batches, else of the innermost loop."""
    iterations = forward.scope.iterations()
    batches = [scope for scope in iterations if scope.loop_kind is LoopKind.BATCHES]
    return (batches or iterations or (None,))[-1]


def pass_of(trace: Trace, forward: Forward) -> Scope | None:
    """The iteration of the pass over data, or the one that goes backward behind a loop of steps which the forward is one of."""
    batch = batch_of(forward)
    if batch is None or batch.loop_kind is LoopKind.BATCHES:
        return batch
    trained = {scope.loop for event in trace.of(Backward) for scope in event.scope.iterations()}
    return next((scope for scope in reversed([*forward.scope.iterations()]) if scope.loop in trained), batch)


def left_early(forward: Forward, trained: Forward) -> bool:
    """Whether nothing tells the forward from one that trains at its place: a batch of the same loader, in the same mode."""
    batch, loader = batch_of(forward), forward.inputs.loader
    return (
        batch is not None
        and batch.loop_kind is LoopKind.BATCHES
        and loader != 0
        and (loader, forward.training, forward.grad) == (trained.inputs.loader, trained.training, trained.grad)
    )


def call_of(forward: Forward) -> Scope:
    """The run of the function, or of the script, that it lies in."""
    return next(scope for scope in reversed(forward.scope.chain()) if scope.kind is not ScopeKind.ITERATION)


def entered(event: Event) -> Scope:
    """The function, or the script, that the event's run began with."""
    chain = event.scope.chain()
    return chain[min(1, len(chain) - 1)]


def block_of(forward: Forward) -> Scope | None:
    """The scope in which a forward's pass over data lies."""
    batch = batch_of(forward)
    scope: Scope | None = forward.scope
    if batch is not None:
        scope = batch.parent
        while scope is not None and scope.loop == batch.loop:
            scope = scope.parent  # a run writes the loop of a comprehension twice
    return scope


def line_of(forward: Forward) -> Place:
    """Its line, and those of all around it: the same in every iteration."""
    return (forward.site, *(scope.site for scope in forward.scope.chain()))
