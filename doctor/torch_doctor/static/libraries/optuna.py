"""Optuna: searches of hyperparameters."""

from __future__ import annotations

from torch_doctor.static.libraries.library import Launcher, Library, members

LIBRARY = Library(
    harmless=members("optuna", "create_study trial exceptions TrialPruned logging"),
    launcher_methods={"optuna.study.Study.optimize": Launcher(0, "func", prepended=1)},
)
