"""MLflow: a tracker."""

from __future__ import annotations

from torch_doctor.static.libraries.library import Library

LIBRARY = Library(
    harmless=("mlflow",),
    loggers=("mlflow.log_metric", "mlflow.log_metrics"),
    # "value - Metric value (float)": https://mlflow.org/docs/latest/api_reference/python_api/mlflow.html
    sinks={
        f"{owner}.{name}": "number"
        for owner in ("mlflow", "mlflow.MlflowClient", "mlflow.tracking.MlflowClient", "mlflow.client.MlflowClient")
        for name in ("log_metric", "log_metrics")
    },
)
