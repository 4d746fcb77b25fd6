"""Which way figures get better, and which numbers they can reach: losses, scores and errors of libraries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from torch_doctor.static import libraries
from torch_doctor.static.tables import words

if TYPE_CHECKING:
    from collections.abc import Mapping

NOT_NEGATIVE: Final = frozenset(
    f"torch.nn.{name}"
    for name in words(
        """
        CrossEntropyLoss functional.cross_entropy MSELoss functional.mse_loss L1Loss functional.l1_loss
        SmoothL1Loss functional.smooth_l1_loss HuberLoss functional.huber_loss BCELoss functional.binary_cross_entropy
        BCEWithLogitsLoss functional.binary_cross_entropy_with_logits MultiMarginLoss functional.multi_margin_loss
        MultiLabelMarginLoss functional.multilabel_margin_loss SoftMarginLoss functional.soft_margin_loss
        MultiLabelSoftMarginLoss functional.multilabel_soft_margin_loss TripletMarginLoss
        functional.triplet_margin_loss CosineEmbeddingLoss functional.cosine_embedding_loss MarginRankingLoss
        functional.margin_ranking_loss CTCLoss functional.ctc_loss
        """
    )
)
"""Losses of torch that are 0 at least (https://docs.pytorch.org/docs/stable/nn.html#loss-functions)."""

METRICS: Final = libraries.table(lambda library: library.metrics)
"""Metrics of libraries: a "share" lies between 0 and 1, a "gain" anywhere, and larger ones are better; an "error" is 0 at best."""
TALLIES: Final = libraries.every(lambda library: library.tallies)
"""Begin the names of classes whose objects add up what models answer, until `reset` is called."""
_OVER_ALL: Final = frozenset(words("MaxMetric MinMetric MetricTracker Running RunningMean RunningSum"))
"""Metrics that are meant to go on over epochs: the best so far, and windows."""
_FUNCTIONS: Final = ".functional."

SAME: Final = frozenset(
    words(
        """
        item float double half int long bool to type detach cpu cuda numpy clone tolist view reshape flatten ravel squeeze
        unsqueeze contiguous expand expand_as transpose permute t T mT round array asarray as_tensor tensor from_numpy
        stack cat concatenate concat vstack hstack [] batch unbind indices values all any data copy astype float32 float64
        """
    )
)
"""What leaves numbers what they are, or takes some of them."""
CHOOSING: Final = frozenset(
    words(
        """
        argmax argmin softmax log_softmax sigmoid max min topk gt ge lt le > >= < <= + - * / nn.Sigmoid nn.Softmax
        nn.LogSoftmax exp tanh relu clamp clip masked_select gather
        """
    )
)
"""What makes one answer of a model, or one truth, of another."""
AVERAGES: Final = frozenset(words("mean nanmean average median fmean max min amax amin"))
OPERATORS: Final[Mapping[str, str]] = {
    **dict.fromkeys(words("add add_ sum_of"), "+"),
    **dict.fromkeys(words("sub sub_ subtract"), "-"),
    **dict.fromkeys(words("mul mul_ multiply"), "*"),
    **dict.fromkeys(words("div div_ true_divide divide"), "/"),
    **dict.fromkeys(words("pow pow_ power"), "**"),
    **dict.fromkeys(words("eq equal"), "=="),
    **dict.fromkeys(words("ne not_equal"), "!="),
    "neg": "-",
    "negative": "-",
    **dict.fromkeys(words("logical_and bitwise_and"), "&"),
}
"""Functions and methods that are operators, by their signs."""


def adds_up(name: str) -> bool:
    """Whether an object of a class, by its canonical name, adds up what models answer until `reset` is called."""
    return name.startswith(TALLIES) and _FUNCTIONS not in name and name.rpartition(".")[2] not in _OVER_ALL
