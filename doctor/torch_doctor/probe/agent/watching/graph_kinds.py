"""Reads from autograd's graph what the numbers of a tensor mean."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from .graphs import FURTHEST, SCALED
from .marks import NOTHING, Mark, noted

if TYPE_CHECKING:
    from .marks import Marks

KINDS = {
    "SoftmaxBackward": ("probabilities", "torch.nn.functional.softmax"),
    "LogSoftmaxBackward": ("log-probabilities", "torch.nn.functional.log_softmax"),
    "SigmoidBackward": ("bounded by a sigmoid", "torch.sigmoid"),
    "LogSigmoidBackward": ("log of a sigmoid", "torch.nn.functional.logsigmoid"),
    "HardsigmoidBackward": ("bounded by a sigmoid", "torch.nn.functional.hardsigmoid"),
    "AddmmBackward": ("logits", "torch.nn.Linear"),
    "LinearBackward": ("logits", "torch.nn.Linear"),
    "MkldnnLinearBackward": ("logits", "torch.nn.Linear"),
    "ConvolutionBackward": ("logits", ""),
    "NativeBatchNormBackward": ("logits", ""),
    "CudnnBatchNormBackward": ("logits", ""),
    "NativeLayerNormBackward": ("logits", ""),
    "NativeGroupNormBackward": ("logits", ""),
    "ReluBackward": ("activations", "torch.relu"),
    "LeakyReluBackward": ("activations", "torch.nn.functional.leaky_relu"),
    "EluBackward": ("activations", "torch.nn.functional.elu"),
    "GeluBackward": ("activations", "torch.nn.functional.gelu"),
    "SiluBackward": ("activations", "torch.nn.functional.silu"),
    "TanhBackward": ("activations", "torch.tanh"),
    "SoftplusBackward": ("activations", "torch.nn.functional.softplus"),
}
"""The kind of a node's result by its name without the digit at its end, and the torch function that made it."""

SAME = frozenset(
    f"{name}Backward"
    for words in (
        ("View", "UnsafeView", "ReshapeAlias", "Alias", "AsStrided", "Contiguous", "Flatten", "Unfold", "Diagonal"),
        ("Transpose", "Permute", "T", "Squeeze", "Unsqueeze", "Expand", "Movedim", "Repeat", "Flip", "Roll"),
        ("Slice", "Select", "Index", "IndexSelect", "Gather", "Take", "Narrow", "CopySlices"),
        ("Clone", "ToCopy", "Detach", "Cat", "Stack", "Split", "SplitWithSizes", "UnsafeSplit", "Unbind", "Chunk"),
        ("ConstantPadNd", "ReflectionPad2D", "ReplicationPad2D", "NativeDropout"),
        ("AvgPool2D", "AvgPool3D", "AdaptiveAvgPool2D", "AdaptiveAvgPool3D", "AdaptiveMaxPool2D"),
        ("MaxPool2DWithIndices", "MaxPool3DWithIndices", "UpsampleNearest1D", "UpsampleNearest2D"),
        ("UpsampleBilinear2D", "UpsampleLinear1D", "PixelShuffle"),
    )
    for name in words
)
"""Nodes that only rearrange, select or average: what they give is of the kind of what they got."""

PARTIAL = frozenset({"MeanBackward", "AmaxBackward", "AminBackward", "MaskedSelectBackward"})
"""Nodes that average or select: what they give is of the same kind, but need not reach 0 where they got one."""
ADDED = frozenset({"AddBackward", "SubBackward"})
"""Nodes whose result is a score where all that they got are scores, or parameters."""
COMPLEMENT = "RsubBackward1"  # a number minus the tensor
SCALE = "scaled"
PART = "a part"  # what made numbers that were averaged or selected
SCORES, BOUNDED = "logits", "bounded by a sigmoid"

LOSSES = (
    "NllLoss",
    "MseLoss",
    "BinaryCrossEntropy",
    "SmoothL1Loss",
    "HuberLoss",
    "L1Loss",
    "KlDiv",
    "CtcLoss",
    "SoftMarginLoss",
)


def kind_of(tensor: Any, marks: Marks) -> Mark:
    """What the numbers of a tensor mean, by the graph behind it or by the mark beside it."""
    beside = marks.of(tensor)
    node = tensor.grad_fn
    if node is None or beside.kind != "unknown":
        return beside
    waiting: list[tuple[Any, int, frozenset[str]]] = [(node, 0, frozenset())]
    seen: set[tuple[Any, frozenset[str]]] = set()
    found: Mark | None = None
    while waiting:
        node, depth, way = waiting.pop()
        if (node, way) in seen:
            continue
        seen.add((node, way))
        if SCALE in way and hasattr(node, "variable"):
            continue  # a parameter of its own that is added
        made = _made(node)
        if made is None:
            if depth >= FURTHEST:
                return beside
            way = way | _way(node)
            waiting.extend((following, depth + 1, way) for following, _ in node.next_functions if following is not None)
            continue
        made = _after(made, way)
        if made is NOTHING or (found is not None and made.kind != found.kind):
            return beside
        found = made
    return found or beside


def _way(node: Any) -> frozenset[str]:
    """How a node computes with what it got; nothing where it only moves it."""
    name = node.name()
    if name == COMPLEMENT:
        return frozenset((COMPLEMENT,))
    name = name.rstrip("0123456789")
    if name in PARTIAL or (name == "IndexBackward" and _masked(node)):
        return frozenset((PART,))
    return frozenset((SCALE,)) if name in SCALED or name in ADDED else frozenset()


def _masked(node: Any) -> bool:
    """Whether an index is a mask."""
    try:
        indices = node._saved_indices
    except (AttributeError, RuntimeError):  # a backward pass has freed them
        return True
    return any(each is not None and not each.is_floating_point() and each.element_size() == 1 for each in indices)


def _after(made: Mark, way: frozenset[str]) -> Mark:
    """What the numbers mean after such computations."""
    bounded = made.kind in (BOUNDED, "probabilities")
    if (SCALE in way and made.kind != SCORES) or (COMPLEMENT in way and not bounded):
        return NOTHING
    if COMPLEMENT in way:
        made = replace(made, kind=BOUNDED)
    return replace(made, operation=PART) if PART in way and bounded else made


def _is_layer(node: Any) -> bool:
    """Whether a matrix product has a parameter in it: that of a linear layer without a bias."""
    given = [following for following, _ in node.next_functions if following is not None]
    inner = [each.next_functions[0][0] if each.name().startswith("TBackward") else each for each in given]
    return any(hasattr(each, "variable") for each in inner[1:])


def _by_a_number(node: Any) -> bool:
    """Whether a product or quotient has one tensor in it, and a number."""
    if node.name().startswith("Neg"):
        return True
    if len(node.next_functions) > 1 and node.next_functions[1][0] is not None:
        return False
    try:
        other = getattr(node, "_saved_other", None)
    except RuntimeError:  # a backward pass has freed it
        return False
    return other is None or getattr(other, "dim", int)() == 0


def _made(node: Any) -> Mark | None:
    """The kind that a node gives its result; None when it is that of what it got; `NOTHING` when it is not known."""
    notes = noted(node)
    if notes is not None and "made" in notes:
        return notes["made"]  # type: ignore[no-any-return]
    name = node.name().rstrip("0123456789")
    kind = KINDS.get(name)
    if kind is not None:
        return Mark(kind=kind[0], operation=kind[1])
    if name.startswith(LOSSES):
        return Mark(kind="loss")
    if name == "MmBackward" and _is_layer(node):
        return Mark(kind=SCORES, operation="torch.nn.Linear")
    moved = (
        name in SAME
        or name in PARTIAL
        or name in ADDED
        or node.name() == COMPLEMENT
        or (name in SCALED and _by_a_number(node))
    )
    return None if moved else NOTHING
