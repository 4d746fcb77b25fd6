"""Which way figures get better, and which numbers they can reach: losses, scores and errors of libraries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

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

_SHARES = """
    accuracy_score balanced_accuracy_score f1_score fbeta_score precision_score recall_score jaccard_score roc_auc_score
    average_precision_score top_k_accuracy_score d2_absolute_error_score ndcg_score dcg_score
    """
_GAINS = "r2_score explained_variance_score matthews_corrcoef cohen_kappa_score"
_ERRORS = """
    mean_squared_error mean_absolute_error root_mean_squared_error median_absolute_error max_error hamming_loss
    mean_absolute_percentage_error mean_squared_log_error log_loss zero_one_loss brier_score_loss
    """
_MEASURED = """
    accuracy f1_score fbeta_score precision recall auroc average_precision jaccard_index dice dice_score specificity
    """
_MEASURES = """
    Accuracy F1Score FBetaScore Precision Recall AUROC AveragePrecision JaccardIndex Dice MeanIoU Specificity
    """
_KINDS = ("", "Binary", "Multiclass", "Multilabel")
_FLAWS = "mean_squared_error mean_absolute_error mean_absolute_percentage_error"
_FLAWED = "MeanSquaredError MeanAbsoluteError MeanAbsolutePercentageError"

SHARES: Final = frozenset(
    (
        *(f"sklearn.metrics.{name}" for name in words(_SHARES)),
        *(f"torchmetrics.functional.{name}" for name in words(_MEASURED)),
        *(f"torchmetrics.{kind}{name}" for name in words(_MEASURES) for kind in _KINDS),
        *(f"torchmetrics.classification.{kind}{name}" for name in words(_MEASURES) for kind in _KINDS),
    )
)
"""Scores between 0 and 1, of which the largest is the best."""
GAINS: Final = frozenset(f"sklearn.metrics.{name}" for name in words(_GAINS))
"""Scores of which the largest is the best, and which may be negative."""
ERRORS: Final = frozenset(
    (
        *(f"sklearn.metrics.{name}" for name in words(_ERRORS)),
        *(f"torchmetrics.functional.{name}" for name in words(_FLAWS)),
        *(f"torchmetrics.{name}" for name in words(_FLAWED)),
        *(f"torchmetrics.regression.{name}" for name in words(_FLAWED)),
    )
)
"""Figures that are 0 at least, of which the smallest is the best."""

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
