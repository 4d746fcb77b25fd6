"""Measures and summaries of models: they run a forward and put the mode back."""

from __future__ import annotations

from torch_doctor.static.libraries.library import Library
from torch_doctor.static.tables import words

LIBRARY = Library(
    harmless=words(
        """
        torchmetrics evaluate torcheval torchsummary torchsummaryX torchinfo torchviz fvcore thop pytorch_model_summary
        pytorch_msssim lpips pytorch_fid seqeval codecarbon sacrebleu rouge_score jiwer
        """
    )
)
