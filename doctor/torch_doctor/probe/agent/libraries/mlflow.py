"""MLflow: a tracker."""

from __future__ import annotations

from .library import Library

LIBRARY = Library("mlflow", logs=("log_metric", "log_metrics"))
