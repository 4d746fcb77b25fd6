"""Reads from autograd's graph what the numbers of a tensor mean."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from .graphs import FURTHEST, SCALED, by_a_number
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

PARTIAL = frozenset(
    f"{name}Backward"
    for name in ("Mean", "Amax", "Amin", "MaskedSelect", "MaskedFill", "Topk", "Sort", "Kthvalue", "NanToNum")
)
"""Nodes that average, select or replace: what they give is of the same kind, but need not reach 0 where they got one."""
CLIPPED = frozenset({"ClampBackward", "ClampMinBackward", "ClampMaxBackward"})
"""Nodes that bound: scores are scores still where the bounds lie far enough apart."""
RENORMALISED = CLIPPED | {"MeanBackward", "MaskedFillBackward"}
"""Nodes behind which the logarithms of probabilities are those of none."""
ADDED = frozenset({"AddBackward", "SubBackward"})
"""Nodes whose result is a score where all that they got are scores, or parameters."""
PRODUCTS = frozenset({"MmBackward", "BmmBackward", "MvBackward"})
"""Nodes whose result is a score where they got one, whatever they multiply it with."""
COMPLEMENT = "RsubBackward1"  # a number minus the tensor
SCALE = "scaled"
SHIFT = "a number added"
UNLIKE = "no share"  # subtracted, or multiplied by a negative number or a large one
NARROW = "within the range of a probability"
PRODUCT = "a product"
OTHER_LOGS = "logarithms of no probabilities"
PART = "a part"  # what made numbers that were averaged or selected
SCORES, BOUNDED = "logits", "bounded by a sigmoid"
SHARES = frozenset((BOUNDED, "probabilities"))
LOGS = frozenset(("log-probabilities", "log of a sigmoid"))
LARGE = 2
"""The largest factor by which probabilities are still multiplied."""

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
    parameters = False
    while waiting:
        node, depth, way = waiting.pop()
        if (node, way) in seen:
            continue
        seen.add((node, way))
        if SCALE in way and hasattr(node, "variable"):
            parameters = True
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
    return beside if found is None or (parameters and found.kind in SHARES) else found


def _way(node: Any) -> frozenset[str]:
    """How a node computes with what it got; nothing where it only moves it."""
    name = node.name()
    if name == COMPLEMENT:
        return frozenset((COMPLEMENT,))
    name = name.rstrip("0123456789")
    way: list[str] = []
    if name in PARTIAL or name in CLIPPED or (name == "IndexBackward" and _masked(node)):
        way = [PART, *([OTHER_LOGS] if name in RENORMALISED else [])]
        way += [NARROW] if name in CLIPPED and not _is_wide(node) else []
    elif name in PRODUCTS:
        way = [PRODUCT]
    elif name in ADDED:
        alone = len([following for following, _ in node.next_functions if following is not None]) == 1
        way = [SCALE, *([SHIFT] if alone else []), *([UNLIKE] if name.startswith("Sub") else [])]
    elif name in SCALED:
        way = [SCALE, *([] if _is_small(node) else [UNLIKE])]
    return frozenset(way)


def _is_wide(node: Any) -> bool:
    """Whether bounds leave numbers outside of the range of a probability: far above it, or all on one side."""
    low, high = getattr(node, "_saved_min", None), getattr(node, "_saved_max", None)
    if any(hasattr(bound, "dim") for bound in (low, high)):
        return False
    return low is None or high is None or high > 1


def _is_small(node: Any) -> bool:
    """Whether a product or quotient multiplies by a positive number that is not large."""
    try:
        other = float(node._saved_other)
    except (AttributeError, RuntimeError, TypeError, ValueError):  # a backward pass has freed it, or it is no number
        return False
    factor = 1 / other if node.name().startswith("Div") and other else other
    return 0 < factor <= LARGE


def _masked(node: Any) -> bool:
    """Whether an index is a mask."""
    try:
        indices = node._saved_indices
    except (AttributeError, RuntimeError):  # a backward pass has freed them
        return True
    return any(each is not None and not each.is_floating_point() and each.element_size() == 1 for each in indices)


def _after(made: Mark, way: frozenset[str]) -> Mark:
    """What the numbers mean after such computations."""
    shares = made.kind in SHARES
    if SCALE in way and made.kind != SCORES:
        if not shares or UNLIKE in way or COMPLEMENT in way or (SHIFT in way and made.kind == BOUNDED):
            return NOTHING
        way = way | {PART}
    if (COMPLEMENT in way and not shares) or (PRODUCT in way and made.kind != SCORES):
        return NOTHING
    if (NARROW in way and not shares) or (OTHER_LOGS in way and made.kind in LOGS):
        return NOTHING
    if COMPLEMENT in way:
        made = replace(made, kind=BOUNDED)
    return replace(made, operation=PART) if PART in way and shares else made


def _is_layer(node: Any) -> bool:
    """Whether a matrix product has a parameter in it: that of a linear layer without a bias."""
    given = [following for following, _ in node.next_functions if following is not None]
    inner = [each.next_functions[0][0] if each.name().startswith("TBackward") else each for each in given]
    first = inner[:1] if type(getattr(inner[0], "variable", None)).__name__ == "Parameter" else []
    return any(hasattr(each, "variable") for each in (*first, *inner[1:]))


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
        or name in PARTIAL | CLIPPED | PRODUCTS
        or name in ADDED
        or node.name() == COMPLEMENT
        or (name in SCALED and by_a_number(node))
    )
    return None if moved else NOTHING
