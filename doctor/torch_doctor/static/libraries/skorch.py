"""skorch: networks as estimators of scikit-learn (https://skorch.readthedocs.io/en/stable/net.html)."""

from __future__ import annotations

from torch_doctor.static.libraries.library import Library, Package
from torch_doctor.static.tables.framework import LOOP, Framework

SKORCH = Framework(
    name="skorch",
    owners=frozenset(
        f"skorch.{name}"
        for name in ("NeuralNet", "NeuralNetClassifier", "NeuralNetRegressor", "NeuralNetBinaryClassifier")
    ),
    methods=dict.fromkeys(("fit", "partial_fit", "predict", "predict_proba", "score", "forward"), LOOP),
    owns_gradients=True,
)

LIBRARY = Library(packages={"skorch": Package()}, frameworks=(SKORCH,))
