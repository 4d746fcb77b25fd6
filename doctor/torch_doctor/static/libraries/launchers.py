"""Command lines and schedulers of jobs: what runs a function of the user's."""

from __future__ import annotations

from torch_doctor.static.libraries.library import Launcher, Library, members
from torch_doctor.static.tables import words

LIBRARY = Library(
    harmless=(*members("absl", "logging flags"), *members("hydra.utils", "get_original_cwd to_absolute_path")),
    neutral=words("click typer hydra fire absl gin sacred"),
    plain=("click",),
    launchers={
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
        "submitit.helpers.FunctionSequence": Launcher(None),
        "sacred.Experiment.main": Launcher(0, "function"),
    },
)
