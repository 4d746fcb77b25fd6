"""Where something happens, as the function sees it in which something else does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.trace import ScopeKind

if TYPE_CHECKING:
    from torch_doctor.trace import Event, Site


def seen_from(event: Event, other: Event) -> Site | None:
    """The place of another event, or of the call that leads to it, in the very run of the function that an event is in.

    None where the other one does not happen in it.
    """
    chain = other.scope.chain()
    frame = next(scope for scope in reversed(event.scope.chain()) if scope.kind is not ScopeKind.ITERATION)
    if frame not in chain:
        return None
    inner = chain[chain.index(frame) + 1 :]
    return next((scope.called_at for scope in inner if scope.called_at is not None), other.site)
