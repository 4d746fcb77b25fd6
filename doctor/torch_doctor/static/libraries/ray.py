"""Ray: tasks, trials and training in several processes."""

from __future__ import annotations

from torch_doctor.static.libraries.library import Launcher, Library, members

LIBRARY = Library(
    harmless=members("ray", "tune.report train.report air.session.report init shutdown"),
    launchers={
        "ray.tune.run": Launcher(0, "run_or_experiment", prepended=1),
        "ray.tune.Tuner": Launcher(0, "trainable", prepended=1),
        "ray.tune.with_parameters": Launcher(0, "trainable", prepended=1),
        "ray.tune.with_resources": Launcher(0, "trainable", prepended=1),
        "ray.train.torch.TorchTrainer": Launcher(0, "train_loop_per_worker", prepended=1),
        "ray.remote": Launcher(0),
    },
    loader_wrappers={"ray.train.torch.prepare_data_loader": 0},
    wrappers={"ray.train.torch.prepare_model": 0},
)
