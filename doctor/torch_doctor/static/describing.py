"""Values in the words of the trace."""

from __future__ import annotations

from torch_doctor.static.values import Either, ParameterValue, Tensor, Value
from torch_doctor.trace import TensorFact


def fact(value: Value, name: str = "") -> TensorFact:
    """What is known of a value, in the words of the trace."""
    flow = value.flow
    known = value if isinstance(value, Tensor) else None
    if isinstance(value, Either):
        known = agreed(value)
    common = {
        "name": name,
        "graph": flow.graph,
        "source": flow.source,
        "forwards": flow.forwards,
        "graph_forwards": flow.graph_forwards,
        "retained": flow.retained,
        "cuts": flow.cuts,
        "leaf": isinstance(value, ParameterValue) and not value.declared,
        "loader": flow.loader,
        "chance": flow.chance,
    }
    if known is None:
        return TensorFact(**common)  # type: ignore[arg-type]  # the fields' types are those of the class
    return TensorFact(
        kind=known.kind,
        operation_at=known.origin.site,
        operation=known.origin.operation,
        scalar=known.scalar,
        **common,  # type: ignore[arg-type]  # as above
    )


def agreed(value: Either) -> Tensor | None:
    """A tensor of the kind that all options have; None when they differ."""
    tensors = [option for _, option in value.options]
    first = tensors[0]
    if isinstance(first, Tensor) and all(isinstance(t, Tensor) and t.kind is first.kind for t in tensors):
        if all(isinstance(t, Tensor) and t.scalar is first.scalar for t in tensors):
            return first
        return Tensor(first.flow, first.kind, first.origin)
    return None
