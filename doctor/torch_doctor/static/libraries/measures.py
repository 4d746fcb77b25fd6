"""Measures and summaries of models: they run a forward and put the mode back."""

from __future__ import annotations

from torch_doctor.static.libraries.library import Library, members
from torch_doctor.static.tables import words

_SHARES = "Accuracy F1Score FBetaScore Precision Recall AUROC AveragePrecision JaccardIndex Dice MeanIoU Specificity"
_ERRORS = "MeanSquaredError MeanAbsoluteError MeanAbsolutePercentageError"
_SCORED = """
    accuracy f1_score fbeta_score precision recall auroc average_precision jaccard_index dice dice_score specificity
    """
_MISSED = "mean_squared_error mean_absolute_error mean_absolute_percentage_error"
_TASKS = ("", "Binary", "Multiclass", "Multilabel")
CLASS_AXIS = 1
"""The dimension in which a metric of torchmetrics looks for the classes of scores that have one dimension more than the labels.

https://lightning.ai/docs/torchmetrics/stable/classification/accuracy.html#multiclassaccuracy
"""


def chooses(name: str, task: object) -> bool:
    """Whether a metric of torchmetrics, which is told this task, chooses the class with the largest score."""
    short = name.rpartition(".")[2]
    shares = {*words(_SHARES), *words(_SCORED)}
    if (
        not name.startswith("torchmetrics.")
        or short.removeprefix("Multiclass").removeprefix("multiclass_") not in shares
    ):
        return False
    return short.lower().startswith("multiclass") or task == "multiclass"


LIBRARY = Library(
    metrics={
        **dict.fromkeys(
            (
                *members("torchmetrics.functional", _SCORED),
                *(f"torchmetrics.{task}{name}" for task in _TASKS for name in words(_SHARES)),
                *(f"torchmetrics.classification.{task}{name}" for task in _TASKS for name in words(_SHARES)),
            ),
            "share",
        ),
        **dict.fromkeys(
            (
                *members("torchmetrics.functional", _MISSED),
                *members("torchmetrics", _ERRORS),
                *members("torchmetrics.regression", _ERRORS),
            ),
            "error",
        ),
    },
    tallies=("torchmetrics.", "torcheval.metrics."),
    harmless=words(
        """
        torchmetrics evaluate torcheval torchsummary torchsummaryX torchinfo torchviz fvcore thop pytorch_model_summary
        pytorch_msssim lpips pytorch_fid seqeval codecarbon sacrebleu rouge_score jiwer
        """
    ),
)
