"""Metric objects of libraries."""

from __future__ import annotations

METRICS = ("torchmetrics.", "ignite.metrics.", "torcheval.metrics.", "pytorch_lightning.metrics.")
"""Begin the names of classes whose objects add up what models answer, until `reset` is called."""
