"""Packages whose trainers take a model and run it themselves."""

from __future__ import annotations

from torch_doctor.static.libraries.library import OPAQUE, Launcher, Library
from torch_doctor.static.tables import words
from torch_doctor.static.tables.framework import trainers

LIBRARY = Library(
    launchers={"detectron2.engine.launch": Launcher(0, "main_func", 5)},
    frameworks=(
        trainers(
            "allennlp",
            "allennlp.training.trainer.Trainer allennlp.training.trainer.GradientDescentTrainer",
            module_bases=words("allennlp.models.Model allennlp.models.model.Model"),
        ),
        trainers("mmengine", "mmengine.runner.Runner", module_bases=("mmengine.model.BaseModel",)),
        trainers("flair", "flair.trainers.ModelTrainer"),
        trainers("detectron2", "detectron2.engine.DefaultTrainer detectron2.engine.SimpleTrainer"),
        trainers("ultralytics", "ultralytics.YOLO"),
        trainers(
            "stable_baselines3",
            "stable_baselines3.PPO stable_baselines3.DQN stable_baselines3.A2C stable_baselines3.SAC",
        ),
        trainers("pytorch_metric_learning", "pytorch_metric_learning.trainers.MetricLossOnly"),
        trainers("speechbrain", "speechbrain.Brain speechbrain.core.Brain", training_hooks=("compute_objectives",)),
    ),
    models={"ultralytics.YOLO": OPAQUE},
)
