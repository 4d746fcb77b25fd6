"""`[tool.torch-doctor.probe]`: which scripts run and how; options of the command line win."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pytest

from torch_doctor.cli.probe_options import DEVICES
from torch_doctor.config.schema import properties
from torch_doctor.probe import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from torch_doctor.probing import Probing

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

Run = Any
Started = dict[str, tuple["Probing", tuple[str, ...]]]
BAD = "import torch\nloss.backward()\n"
TABLE = """\
[tool.torch-doctor.probe]
scripts = ["/train.py", "experiments/*.py"]
time = 12.5
device = "cpu"
python = "env/python"

[tool.torch-doctor.probe.arguments]
"*.py" = []
"train.py" = ["--epochs", "1"]
"experiments/*.py" = ["--config", "tiny.yaml"]
"""


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Started:
    """The scripts that would run, with how, and with which arguments."""
    found: Started = {}

    def probed(script: Path, _part: object, _rules: object, how: Probing, _attention: object) -> Outcome:
        found[script.name] = how, how.args_for(script)
        return Outcome(ending="it was only to be chosen")

    monkeypatch.setattr("torch_doctor.scan.running.probed", probed)
    return found


@pytest.fixture
def project(folder: Path, write: Callable[..., Path]) -> Path:
    write("pyproject.toml", TABLE)
    for name in (
        "train.py",
        "experiments/a.py",
        "experiments/b.py",
        "experiments/notes.md",
        "other.py",
        "lib/train.py",
    ):
        write(name, BAD)
    write("env/python", "")
    return folder


@pytest.mark.usefixtures("project")
def test_the_scripts_of_the_configuration_run_if_none_is_named(run: Run, started: Started) -> None:
    run("scan", "--probe")
    assert {name: args for name, (_, args) in started.items()} == {
        "train.py": ("--epochs", "1"),
        "a.py": ("--config", "tiny.yaml"),
        "b.py": ("--config", "tiny.yaml"),
    }


def test_the_table_decides_time_device_and_python(run: Run, started: Started, project: Path) -> None:
    run("scan", "train.py", "--probe")
    how, args = started["train.py"]
    assert (how.seconds, how.device, how.python) == (12.5, "cpu", str(project / "env/python"))
    assert args == ("--epochs", "1")


def test_options_of_the_command_line_win(run: Run, started: Started, project: Path) -> None:
    own = str(project / "own")
    (project / "own").touch()
    options = ("--device", "auto", "--python", own, "--probe-timeout", "3")
    run("scan", "other.py", "train.py", "--probe", *options, "--", "--epochs", "9")
    assert list(started) == ["other.py", "train.py"]  # what is named runs, and nothing else
    for how, args in started.values():
        assert (how.seconds, how.device, how.python, args) == (3, "auto", own, ("--epochs", "9"))
    run("scan", "train.py", "--probe", "--")
    assert started["train.py"][1] == ()


@pytest.mark.usefixtures("project")
def test_in_a_folder_that_is_named_only_the_scripts_of_the_configuration_run(run: Run, started: Started) -> None:
    run("scan", "experiments", "--probe")
    assert list(started) == ["a.py", "b.py"]
    outcome = run("scan", "lib", "--probe=require")
    assert outcome.status == 2
    assert (
        "error: the probe found no training script under lib that matches `probe.scripts`: pass the script to run"
        in outcome.err
    )


@pytest.mark.usefixtures("project")
def test_the_last_pattern_that_matches_a_script_counts_also_over_a_shared_file(
    run: Run, write: Callable[..., Path], started: Started
) -> None:
    write("base/torch-doctor.toml", "probe.arguments = { 'train.py' = ['--base'], 'other.py' = ['--other'] }\n")
    own = "extend = '../base/torch-doctor.toml'\nprobe.device = 'cuda'\nprobe.arguments = { '*.py' = ['--own'] }\n"
    write("sub/torch-doctor.toml", own)
    write("sub/train.py", BAD)
    run("scan", "sub/train.py", "--probe")
    how, args = started["train.py"]
    assert (how.device, how.seconds, args) == ("cuda", 60, ("--own",))
    setting = "probe.arguments = { 'train.py' = ['--set'] }"
    run("scan", "sub/train.py", "--probe", "--config", setting, "--config", "probe.time = 5")
    how, args = started["train.py"]
    assert (how.device, how.seconds, args) == ("cuda", 5, ("--set",))


@pytest.mark.usefixtures("project")
def test_a_checkup_takes_arguments_device_and_python_from_the_table(run: Run, started: Started, project: Path) -> None:
    run("checkup", "train.py", "--time", "9", "-q")
    how, args = started["train.py"]
    assert (how.device, how.python, args) == ("cpu", str(project / "env/python"), ("--epochs", "1"))
    run("checkup", "train.py", "--time", "9", "-q", "--device", "auto", "--", "--lr", "2")
    how, args = started["train.py"]
    assert (how.device, args) == ("auto", ("--lr", "2"))


@pytest.mark.usefixtures("project")
def test_the_probe_settings_in_effect_are_shown(run: Run) -> None:
    shown = tomllib.loads(run("scan", "--show-settings", "--device", "cuda").out)["probe"]
    assert (shown["time"], shown["device"], shown["scripts"]) == (12.5, "cuda", ["/train.py", "experiments/*.py"])
    assert shown["arguments"]["train.py"] == ["--epochs", "1"]


def test_a_device_of_the_table_is_one_of_the_option() -> None:
    assert set(properties()["probe"]["properties"]["device"]["enum"]) == set(DEVICES)


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("probe.devise = 'cpu'", "unknown key `probe.devise`; did you mean `probe.device`?"),
        ("device = 'cpu'", "unknown key `device`; did you mean `probe.device`?"),
        ("probe.time = 0", "`probe.time` must be a positive number, for example `probe = { time = 30 }`"),
        (
            "probe.device = 'gpu'",
            "`probe.device` must be one of `auto`, `cpu`, `cuda`, for example `probe = { device = ",
        ),
        (
            "probe.arguments = ['--epochs']",
            "`probe.arguments` must be a table of lists of strings, for example `probe = {",
        ),
        ("probe.arguments = { 'a.py' = '--epochs 1' }", "`probe.arguments` must be a table of lists of strings"),
        ("probe = 'cpu'", "`probe` must be a table, for example `probe = { device = "),
    ],
)
def test_a_wrong_entry_of_the_table_is_explained_in_one_line(
    run: Run, write: Callable[..., Path], setting: str, said: str
) -> None:
    path = write("torch-doctor.toml", setting + "\n")
    outcome = run("scan")
    assert (outcome.status, outcome.err.count("\n")) == (2, 1)
    assert outcome.err.startswith(f"error: {path}: {said}")
    outcome = run("scan", "--isolated", "--config", setting)
    assert outcome.err.startswith(f"error: --config: {said}")
