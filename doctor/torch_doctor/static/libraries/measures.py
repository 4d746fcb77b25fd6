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
