"""Composer (https://docs.mosaicml.com/projects/composer)."""

from __future__ import annotations

from torch_doctor.static.libraries.library import Library, Package, members
from torch_doctor.static.tables.framework import LOOP, Framework

COMPOSER = Framework(
    name="composer",
    module_bases=frozenset({"composer.ComposerModel", "composer.ComposerClassifier", "composer.HuggingFaceModel"}),
    training_hooks=frozenset({"loss"}),
    evaluation_hooks=frozenset({"eval_forward"}),
    hooks=frozenset({"get_metrics", "update_metric"}),
    owners=frozenset({"composer.Trainer"}),
    methods=dict.fromkeys(("fit", "eval", "predict"), LOOP),
    owns_gradients=True,
)

LIBRARY = Library(
    packages={"composer": Package(frozenset({"algorithms", "optim", "loggers", "callbacks"}))},
    frameworks=(COMPOSER,),
    optimizers=members("composer.optim", "DecoupledAdamW DecoupledSGDW"),
)
