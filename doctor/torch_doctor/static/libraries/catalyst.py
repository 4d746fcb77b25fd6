"""Catalyst: runners (https://catalyst-team.github.io/catalyst)."""

from __future__ import annotations

from torch_doctor.static.libraries.library import Library
from torch_doctor.static.tables import words
from torch_doctor.static.tables.framework import LOOP, Framework

CATALYST = Framework(
    name="catalyst",
    owners=frozenset(
        {
            *words(
                """
                catalyst.dl.Runner catalyst.dl.SupervisedRunner catalyst.runners.SupervisedRunner
                catalyst.runners.Runner catalyst.dl.ConfigRunner catalyst.core.runner.IRunner
                """
            ),
        }
    ),
    methods=dict.fromkeys(("train", "evaluate_loader", "predict_loader", "run", "infer"), LOOP),
    owns_gradients=True,
)

LIBRARY = Library(frameworks=(CATALYST,))
