"""Find the layer whose output an activation gets, by the autograd graph."""

from __future__ import annotations

from typing import Any, NamedTuple

BEHIND = 6  # operations between a layer and its activation: views, a norm, a pooling, a skip connection
OF_WEIGHT = 3  # operations between a weight and its use: a transposition, a cast
PRODUCTS = ("AddmmBackward", "MmBackward", "ConvolutionBackward", "LinearBackward")
BETWEEN = (
    "View",
    "Reshape",
    "Transpose",
    "Permute",
    "Squeeze",
    "Unsqueeze",
    "Norm",
    "Pool",
    "Dropout",
    "AddBackward",
    "Clone",
    "ToCopy",
)


class Layer(NamedTuple):
    """A layer with weights: one of its weights, and whether it is a convolution, so that its units are in dimension 1."""

    weight: Any
    convolution: bool


def layer_behind(node: Any) -> Layer | None:
    """Return the layer whose output reaches this node of the graph; None if the output of something else does.

    A sum counts only if it joins two tensors, as a skip connection does: a number that is added makes a threshold.
    """
    for _ in range(BEHIND):
        if node is None:
            return None
        name = node.name()
        if any(part in name for part in PRODUCTS):
            weight = _weight(node)
            return None if weight is None else Layer(weight, "Convolution" in name)
        one_sided = "AddBackward" in name and sum(each is not None for each, _ in node.next_functions) < 2  # noqa: PLR2004
        if one_sided or not any(part in name for part in BETWEEN):
            return None
        node = next((each for each, _ in node.next_functions if each is not None and _variable(each) is None), None)
    return None


def _weight(product: Any) -> Any:
    """The largest parameter that goes into a product; None where it multiplies activations by each other."""
    found, nodes = [], [product]
    for _ in range(OF_WEIGHT):
        nodes = [each for node in nodes for each, _ in node.next_functions if each is not None]
        found += [variable for each in nodes if (variable := _variable(each)) is not None]
        nodes = [each for each in nodes if each.name().startswith(("TBackward", "TransposeBackward", "ToCopyBackward"))]
    return max(found, key=lambda each: each.numel(), default=None)


def _variable(node: Any) -> Any:
    return getattr(node, "variable", None)
