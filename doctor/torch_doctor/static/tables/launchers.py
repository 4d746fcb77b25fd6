"""The functions that only launch another one: processes, threads, trials, command lines."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Launcher:
    """Where a call that runs another function has that function, and the arguments that it passes on."""

    function: int | None  # position; None: by name only
    name: str = ""  # keyword
    args: int | None = None  # position of the tuple of its arguments; None: none are passed that we could see
    args_name: str = "args"
    prepended: int = 0  # arguments that the launcher itself puts first: a rank, a trial, a configuration


LAUNCHERS: dict[str, Launcher] = {
    "torch.multiprocessing.spawn": Launcher(0, "fn", 1, prepended=1),
    "torch.multiprocessing.start_processes": Launcher(0, "fn", 1, prepended=1),
    "torch.multiprocessing.Process": Launcher(1, "target", 3),
    "multiprocessing.Process": Launcher(1, "target", 3),
    "multiprocessing.context.Process": Launcher(1, "target", 3),
    "threading.Thread": Launcher(1, "target", 3),
    "torch_xla.distributed.xla_multiprocessing.spawn": Launcher(0, "fn", 1, prepended=1),
    "torch_xla.launch": Launcher(0, "fn", 1, prepended=1),
    "torch.distributed.launcher.elastic_launch": Launcher(1, "entrypoint"),
    "torch.distributed.launcher.api.elastic_launch": Launcher(1, "entrypoint"),
    "torch.distributed.launcher.api.launch_agent": Launcher(1, "entrypoint", 2),
    "accelerate.notebook_launcher": Launcher(0, "function", 1),
    "accelerate.debug_launcher": Launcher(0, "function", 1),
    "ray.tune.run": Launcher(0, "run_or_experiment", prepended=1),
    "ray.tune.Tuner": Launcher(0, "trainable", prepended=1),
    "ray.tune.with_parameters": Launcher(0, "trainable", prepended=1),
    "ray.tune.with_resources": Launcher(0, "trainable", prepended=1),
    "ray.train.torch.TorchTrainer": Launcher(0, "train_loop_per_worker", prepended=1),
    "ray.remote": Launcher(0),
    "wandb.agent": Launcher(1, "function"),
    "hydra.main": Launcher(None, prepended=1),
    "hydra_zen.zen": Launcher(0),
    "pyrallis.wrap": Launcher(None, prepended=1),
    "click.command": Launcher(None),
    "fire.Fire": Launcher(0, "component"),
    "absl.app.run": Launcher(0, "main", prepended=1),
    "typer.run": Launcher(0, "function"),
    "tyro.cli": Launcher(0, "f"),
    "jsonargparse.CLI": Launcher(0, "components"),
    "jsonargparse.auto_cli": Launcher(0, "components"),
    "plac.call": Launcher(0, "obj"),
    "asyncio.run": Launcher(0, "main"),
    "cProfile.run": Launcher(None),
    "horovod.run": Launcher(0, "func", 1),
    "horovod.spark.run": Launcher(0, "fn", 1),
    "submitit.helpers.FunctionSequence": Launcher(None),
    "detectron2.engine.launch": Launcher(0, "main_func", 5),
    "sacred.Experiment.main": Launcher(0, "function"),
    "tensorflow.app.run": Launcher(0, "main", prepended=1),
}
"""Calls that run a function of the user's; those with no position are decorators."""

LAUNCHER_METHODS: dict[str, Launcher] = {
    "optuna.study.Study.optimize": Launcher(0, "func", prepended=1),
    "lightning.Fabric.launch": Launcher(0, "function", prepended=1),
    "concurrent.futures.Run.submit": Launcher(0, "fn"),
}
"""The same for methods."""
METHOD_LAUNCHERS: dict[str, Launcher] = {"optimize": Launcher(0, "func", prepended=1)}
"""By bare name, for receivers that are unknown: study.optimize(objective, n_trials=20)."""
