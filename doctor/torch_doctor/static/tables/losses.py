"""The losses of torch: what they expect of their input, where input and target stand, what they return.

Source: https://docs.pytorch.org/docs/stable/nn.html#loss-functions and nn.functional.html#loss-functions.
"""

from __future__ import annotations

from torch_doctor.static import libraries
from torch_doctor.static.tables.loss import Loss
from torch_doctor.trace.words import Kind

_SCORES = Loss(Kind.LOGITS)
_CLASSES = Loss(Kind.LOGITS, classes=True)
_DISTANCE = Loss(Kind.UNKNOWN, symmetric=True)
_TRIPLET = Loss(Kind.UNKNOWN, target=None, input_name="anchor", target_name="")
_PAIR = Loss(Kind.UNKNOWN, target=2, input_name="input1")

_LOSSES: tuple[tuple[str, str, Loss], ...] = (
    ("CrossEntropyLoss", "cross_entropy", _CLASSES),
    ("MultiMarginLoss", "multi_margin_loss", _CLASSES),
    ("MultiLabelMarginLoss", "multilabel_margin_loss", _SCORES),
    ("MultiLabelSoftMarginLoss", "multilabel_soft_margin_loss", _SCORES),
    ("SoftMarginLoss", "soft_margin_loss", _SCORES),
    ("BCEWithLogitsLoss", "binary_cross_entropy_with_logits", _SCORES),
    ("BCELoss", "binary_cross_entropy", Loss(Kind.BOUNDED)),
    ("NLLLoss", "nll_loss", Loss(Kind.LOG_PROBABILITIES, classes=True)),
    ("KLDivLoss", "kl_div", Loss(Kind.LOG_PROBABILITIES)),
    ("CTCLoss", "ctc_loss", Loss(Kind.LOG_PROBABILITIES, input_name="log_probs", target_name="targets")),
    ("MSELoss", "mse_loss", _DISTANCE),
    ("L1Loss", "l1_loss", _DISTANCE),
    ("SmoothL1Loss", "smooth_l1_loss", _DISTANCE),
    ("HuberLoss", "huber_loss", _DISTANCE),
    ("PoissonNLLLoss", "poisson_nll_loss", Loss(Kind.UNKNOWN)),
    ("GaussianNLLLoss", "gaussian_nll_loss", Loss(Kind.UNKNOWN)),
    ("HingeEmbeddingLoss", "hinge_embedding_loss", Loss(Kind.UNKNOWN)),
    ("CosineEmbeddingLoss", "cosine_embedding_loss", _PAIR),
    ("MarginRankingLoss", "margin_ranking_loss", _PAIR),
    ("TripletMarginLoss", "triplet_margin_loss", _TRIPLET),
    ("TripletMarginWithDistanceLoss", "triplet_margin_with_distance_loss", _TRIPLET),
)

functional_of: dict[str, str] = {f"torch.nn.{module}": f"torch.nn.functional.{name}" for module, name, _ in _LOSSES}
functional_of["torch.nn.LinearCrossEntropyLoss"] = "torch.nn.functional.linear_cross_entropy"
"""The function that each loss module calls."""

ANY = "torch.nn.modules.loss._Loss"
"""The base of torch's losses: stands for a loss of which nothing else is known."""

LOSSES: dict[str, Loss] = {
    ANY: Loss(Kind.UNKNOWN, reduction_default=""),
    **{f"torch.nn.{module}": loss for module, _, loss in _LOSSES},
    **{f"torch.nn.functional.{name}": loss for _, name, loss in _LOSSES},
    # They hold the last linear layer themselves: what goes in are its inputs.
    "torch.nn.LinearCrossEntropyLoss": Loss(Kind.UNKNOWN, classes=True),
    "torch.nn.functional.linear_cross_entropy": Loss(Kind.UNKNOWN, target=2, classes=True),
    "torch.nn.PoissonNLLLoss": Loss(Kind.UNKNOWN, input_name="log_input"),  # its function calls it input
    "torch.nn.NLLLoss2d": Loss(Kind.LOG_PROBABILITIES, classes=True),
    **libraries.table(lambda library: library.losses),
}

FUNCTIONAL = frozenset(name for name in LOSSES if name.rpartition(".")[2].islower())
"""The losses that are functions: a call computes one."""
CLASSES = frozenset(LOSSES) - FUNCTIONAL
"""The losses that are classes: a call builds a module."""

OF_ELEMENTS = frozenset(
    each
    for module, name, _ in _LOSSES
    if module.removesuffix("Loss") in ("MSE", "L1", "SmoothL1", "Huber", "BCE", "BCEWithLogits", "PoissonNLL")
    for each in (module, name)
)
"""The losses that compare their arguments element by element."""

SCALAR: dict[str, bool] = {"mean": True, "sum": True, "batchmean": True, "none": False}
"""Whether a loss with this reduction is a single number."""

CONSTRUCTORS: dict[str, tuple[int, ...]] = {
    **{f"torch.nn.{module}": () for module, _, _ in _LOSSES},
    "torch.nn.NLLLoss2d": (0,),
    **{f"torch.nn.{module}": (0,) for module in ("CrossEntropyLoss", "NLLLoss", "BCELoss", "MultiLabelSoftMarginLoss")},
    "torch.nn.BCEWithLogitsLoss": (0, 4),  # weight and pos_weight
    "torch.nn.MultiMarginLoss": (2,),  # after p and margin
}
"""The places of weights among a loss module's settings: no other takes a tensor of more than one number."""

WEIGHTS = ("weight", "pos_weight")
"""What such weights are called, among the settings of a module and the arguments of a function."""

_OLD = ("size_average", "reduce", "reduction")
_BY_CLASS = ("weight", "size_average", "ignore_index", "reduce", "reduction")
_SETTINGS = {
    **dict.fromkeys(("KLDivLoss", "MSELoss", "L1Loss", "SmoothL1Loss", "SoftMarginLoss", "MultiLabelMarginLoss"), _OLD),
    **dict.fromkeys(("BCELoss", "BCEWithLogitsLoss", "MultiLabelSoftMarginLoss"), ("weight", *_OLD)),
    **dict.fromkeys(("CrossEntropyLoss", "NLLLoss"), _BY_CLASS),
    "HuberLoss": ("reduction",),
}
SETTINGS: dict[str, tuple[str, ...]] = {
    **{f"torch.nn.{module}": names for module, names in _SETTINGS.items()},
    **{functional_of[f"torch.nn.{module}"]: names for module, names in _SETTINGS.items()},
}
"""The names of a loss's first settings, in their order; those of a function come after its input and target."""
