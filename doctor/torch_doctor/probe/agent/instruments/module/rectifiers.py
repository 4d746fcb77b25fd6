"""The ways in which scripts write a ReLU as a function, a method or a product with a mask."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from ...nodes import span_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...recorder import Recorder

RELUS = ("relu", "relu_")
"""Functions of torch and methods of its tensors that are nothing else."""
BOUNDS = ("clamp", "clamp_", "clamp_min", "clamp_min_", "clip", "clip_")
CHOICES = ("maximum", "where", "mul", "multiply")
"""Without `max`: who watches what is ranked has replaced it, and looks at its own caller."""
OPERATORS = ("__mul__", "__rmul__")
PRODUCTS = ("mul", "multiply", *OPERATORS)
FUNCTIONAL = ("threshold", "hardtanh", "relu6")
"""Others, which may be."""
IN_PLACE = ("Clamp", "Threshold", "Hardtanh", "Relu")
"""What the nodes of the graph are called behind which the input is gone, because it was overwritten."""


def places(torch: Any) -> Iterator[tuple[Any, str]]:
    """Yield the functions that may be a ReLU, each as the object that has it and its name there."""
    for owner in (torch, torch.Tensor):
        for name in (*RELUS, *BOUNDS, *CHOICES):
            yield owner, name
    for name in OPERATORS:
        yield torch.Tensor, name
    for name in FUNCTIONAL:
        yield torch.nn.functional, name


def is_rectified(torch: Any, name: str, given: tuple[Any, ...], result: Any) -> bool:
    """Return whether a call of such a function gave what a ReLU gives, bounded above or not."""
    if name in RELUS:
        return True
    if not isinstance(result, torch.Tensor) or result.grad_fn is None:
        return False
    tensors = [each for each in given if isinstance(each, torch.Tensor)]
    inputs = [each for each in tensors if each.requires_grad and each.shape == result.shape]
    if not inputs or any(each.requires_grad for each in tensors if each is not inputs[0] and name in PRODUCTS):
        return False
    with torch.no_grad():
        found = result.detach()
        if inputs[0] is result:
            return any(part in result.grad_fn.name() for part in IN_PLACE) and bool((found >= 0).all())
        wanted = inputs[0].detach().clamp(min=0)
        return bool(torch.equal(found, wanted) or torch.equal(found, wanted.clamp(max=found.max())))


def written(recorder: Recorder, site: int) -> str:
    """Return the user's text of the product at a site, without the line breaks in it; empty for other expressions."""
    span = recorder.span(site)
    for node in ast.walk(recorder.index.trees().get(span.path) or ast.Module([], [])):
        if isinstance(node, ast.BinOp) and span_of(span.path, node) == span:
            return " ".join(recorder.spelled(site, node).split())
    return ""
