"""Targets of losses and the forms they take: class indices, probabilities of the scores' shape, floats."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from torch_doctor.trace import ClassesMarked, claims
from torch_doctor_rules.judging.evidence import number
from torch_doctor_rules.judging.loss_inputs import (
    BCE,
    CROSS_ENTROPY,
    KL_DIV,
    MARGIN,
    NLL,
    SIGMOID_INSIDE,
    are_integers,
    both,
    one_class,
    swapped,
)
from torch_doctor_rules.judging.loss_shapes import ANY, classes, rank

if TYPE_CHECKING:
    from torch_doctor.trace import LossCalled, TensorFact, Trace

TAKES_INTEGERS = both("MultiLabelSoftMarginLoss", "multilabel_soft_margin_loss")
INDEXED = CROSS_ENTROPY | NLL | MARGIN
FLOATING = (BCE | SIGMOID_INSIDE | KL_DIV) - TAKES_INTEGERS
"""Losses that refuse integer targets."""
NARROW = frozenset(("int8", "int16", "int32", "bool"))
BATCHED = 2
"""Dimensions of the scores of a batch: the rows, and the classes."""


class Misfit(Struct, frozen=True):
    """Why a loss refuses its targets, and what to do."""

    text: str
    remedy: str


ROW = Misfit(
    "`{loss}` expects class indices of shape [B], but gets shape [B, 1]: it raises an error",
    "remove the dimension with `.squeeze(1)`",
)
FLOAT = Misfit(
    "`{loss}` expects class indices as int64, but gets floats: it raises an error",
    "keep the labels as integers, or convert them with `.long()`",
)
SHORT = Misfit(
    "`{loss}` expects class indices as int64, but gets a narrower dtype: it raises an error",
    "convert the labels with `.long()`",
)
ONE_HOT = Misfit(
    "`{loss}` gets integers of the logits' shape, but expects class indices or floats",
    "pass class indices (`.argmax(1)`), or convert the one-hot targets with `.float()`",
)
INTEGERS = Misfit(
    "`{loss}` expects float targets, but gets integers: it raises an error",
    "convert the targets with `.float()`",
)
OUT_OF_RANGE = Misfit(
    "`{loss}` gets a label outside of its classes: it raises an error",
    "number the classes from 0, and give the model one output for each class",
)
SEVERAL = Misfit(
    "the targets of `{loss}` mark several classes of a sample, which cross-entropy makes compete",
    "use `nn.BCEWithLogitsLoss`, which decides each class by itself",
)


def misfit(trace: Trace, loss: LossCalled) -> Misfit | None:
    """Why the loss refuses its targets, or takes them for something else; None where they fit, or nobody knows."""
    if swapped(trace, loss) or one_class(loss):
        return None
    if loss.raised.startswith("IndexError: Target"):
        return None if are_synthetic(trace) else OUT_OF_RANGE
    if loss.loss in CROSS_ENTROPY and number(trace, claims.SEVERAL_CLASSES, loss):
        return None if are_synthetic(trace) else SEVERAL
    if loss.loss in CROSS_ENTROPY and _marks_classes(trace, loss):
        return SEVERAL
    if loss.loss in FLOATING:
        return INTEGERS if are_integers(loss.target) and _scores(loss.input) else None
    return _of_indices(loss) if loss.loss in INDEXED else None


def _marks_classes(trace: Trace, loss: LossCalled) -> bool:
    """Whether the source shows that each sample may have several classes."""
    scores, target = loss.input, loss.target
    same = rank(scores) == rank(target) and classes(scores) == classes(target) and (classes(target) or 0) > 1
    marked = any(event.site == loss.site for event in trace.of(ClassesMarked))
    return marked and same and _scores(scores) and target.dtype.startswith(("float", "bfloat"))


def are_synthetic(trace: Trace) -> bool:
    """Whether the probe made the labels."""
    return trace.run is not None and trace.run.voids("values") is not None


def _of_indices(loss: LossCalled) -> Misfit | None:
    scores, target = loss.input, loss.target
    if not _scores(scores):
        return None
    of, given, floats = rank(scores), rank(target), target.dtype.startswith(("float", "bfloat"))
    flat, many = of in (None, BATCHED), (classes(scores) or 0) > 1
    if flat and given == BATCHED and target.shape is not None and target.shape[1] == 1 and many:
        return ROW
    indices = given is not None and given + 1 == of and given >= 1
    if floats and (indices or (flat and given == 1 and (target.shape or (None,))[0] == "batch")):
        return FLOAT
    same = given == BATCHED == of and many and target.shape is not None and target.shape[1] == classes(scores)
    if same and are_integers(target):
        return ONE_HOT
    if same and floats and loss.loss not in CROSS_ENTROPY:
        return FLOAT
    return SHORT if target.dtype in NARROW and (indices or (flat and given == 1)) and many else None


def _scores(fact: TensorFact) -> bool:
    """Whether these come from a model, and something is known of them."""
    return (bool(fact.forwards) or fact.graph is True) and fact.shape != (ANY,)
