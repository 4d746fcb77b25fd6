"""Trackers of experiments: what they watch, they read through hooks."""

from __future__ import annotations

from torch_doctor.static.libraries.library import Launcher, Library
from torch_doctor.static.tables import words

LIBRARY = Library(
    harmless=words(
        """
        wandb tensorboard tensorboardX tensorboard_logger visdom comet_ml neptune clearml aim swanlab dvclive aimstack
        trackio hiddenlayer
        """
    ),
    loggers=words("wandb.log neptune.log_metric swanlab.log"),
    harmful=("wandb.agent",),
    launchers={"wandb.agent": Launcher(1, "function")},
)
