"""Settings of the command line, what is in effect, and which files a scan looks at."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

pytestmark = pytest.mark.usefixtures("stand_ins")
Run = Any
TRAINS = "import torch\nloss.backward()\noptimizer.step()\n"


def codes(outcome: Any) -> list[str]:
    return [finding["code"] for finding in outcome.json]


def test_a_setting_of_the_command_line_counts_more_than_any_file(write: Callable[..., Path], run: Run) -> None:
    write("train.py", TRAINS)
    write("torch-doctor.toml", "select = ['TDR101']\noutput-format = 'full'\n")
    outcome = run("scan", "--config", 'output-format = "json"', "--config", 'select = ["TDR601"]')
    assert codes(outcome) == ["TDR601"]
    outcome = run("scan", "--config", 'output-format="json"', "--config", 'select=["TDR6"]', "--select", "TDR101")
    assert codes(outcome) == ["TDR101"]


def test_a_file_and_settings_go_together(write: Callable[..., Path], run: Run) -> None:
    write("train.py", TRAINS)
    write("shared/base.toml", "select = ['TDR101']\n")
    outcome = run("scan", "--config", "shared/base.toml", "--config", 'output-format = "json"')
    assert codes(outcome) == ["TDR101"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["output-format=concise"], "not a file, and not a TOML `key = value`"),
        (["output-format=concise"], 'did you mean `output-format = "concise"`?'),
        (["output-fromat='concise'"], "--config: unknown key `output-fromat`; did you mean `output-format`?"),
        (["select='TDR1'"], "--config: `select` must be a list of strings"),
        (["select=['TDR777']"], "--config: select: unknown rule `TDR777`"),
        (["extend='base.toml'"], "`extend` only works in a file"),
        (["nope.toml"], "nope.toml: No such file or directory"),
        (["a.toml", "b.toml"], "--config takes one file, not a.toml and b.toml"),
    ],
)
def test_a_setting_that_means_nothing_is_one_line(folder: Path, run: Run, arguments: list[str], said: str) -> None:  # noqa: ARG001
    outcome = run("scan", *(part for text in arguments for part in ("--config", text)))
    assert outcome.status == 2
    assert said in outcome.err
    assert outcome.err.count("\n") == 1


def test_isolated_and_a_file_contradict_each_other(write: Callable[..., Path], run: Run) -> None:
    write("a.toml", "")
    outcome = run("scan", "--isolated", "--config", "a.toml")
    assert (outcome.status, "--isolated cannot be used with --config" in outcome.err) == (2, True)


def test_selections_of_shared_files_are_layers_as_those_of_the_command_line(
    write: Callable[..., Path], run: Run
) -> None:
    write("train.py", TRAINS)
    write("base.toml", "select = ['TDR1']\nextend-exclude = ['old']\nper-file-ignores = { 'a.py' = ['ALL'] }\n")
    write("torch-doctor.toml", "extend = 'base.toml'\nextend-select = ['TDR6']\noutput-format = 'json'\n")
    write("old/a.py", TRAINS)
    write("a.py", TRAINS)
    assert codes(run("scan")) == ["TDR101", "TDR601"]
    with_own = "extend = 'base.toml'\nper-file-ignores = {}\noutput-format = 'json'\n"
    write("torch-doctor.toml", with_own)
    assert codes(run("scan", "a.py")) == ["TDR101"]
    write("torch-doctor.toml", with_own.replace("per-file-ignores = {}", "extend-per-file-ignores = {}"))
    assert codes(run("scan", "a.py")) == []


def test_near_misses_are_named_by_a_scan_that_remembers_too(write: Callable[..., Path], run: Run) -> None:
    write("train.py", TRAINS)
    write("pyproject.toml", "[tool.torch_doctor]\n")
    for _ in range(2):
        outcome = run("scan")
        assert outcome.err.count("[tool.torch_doctor] is ignored: rename it to [tool.torch-doctor]") == 1


def test_the_settings_are_shown_as_toml(write: Callable[..., Path], run: Run) -> None:
    write("base.toml", "select = ['TDR1']\nextend-exclude = ['gen']\n")
    write("torch-doctor.toml", "extend = 'base.toml'\nper-file-ignores = { 'tests/*' = ['TDR101'] }\n")
    outcome = run("scan", "--show-settings", "--extend-exclude", "old", "--config", "torch-version = '2.4'")
    assert (outcome.status, outcome.err) == (0, "")
    assert outcome.out.startswith("# read: base.toml, torch-doctor.toml\n")
    shown = tomllib.loads(outcome.out)
    assert shown["select"] == ["TDR101"]
    assert shown["extend-exclude"] == ["gen", "old"]
    assert shown["per-file-ignores"] == {"tests/*": ["TDR101"]}
    assert shown["torch-version"] == "2.4"


def test_the_files_that_would_be_scanned_are_listed(write: Callable[..., Path], run: Run) -> None:
    for name in ("b.py", "a/train.py", "old/a.py", "notes.txt"):
        write(name, "x = (" if name == "b.py" else "")
    outcome = run("scan", "--show-files", "--extend-exclude", "old")
    assert (outcome.status, outcome.out) == (0, "a/train.py\nb.py\n")
    outcome = run("scan", "--show-files", "nope.py")
    assert (outcome.status, outcome.out) == (2, "")
    assert "nope.py" in outcome.err


def test_comments_can_be_left_out_of_account(write: Callable[..., Path], run: Run) -> None:
    write("train.py", "import torch\nloss.backward()  # noqa: TDR101\n")
    for _ in range(2):
        assert codes(run("scan", "--output-format", "json")) == []
        assert codes(run("scan", "--output-format", "json", "--ignore-noqa")) == ["TDR101"]


@pytest.mark.parametrize(("verb", "hint"), [("skip-file", "ignore-file"), ("disable=TDR101", "ignore[...]")])
def test_what_other_tools_say_is_answered_with_what_is_meant(
    write: Callable[..., Path], run: Run, verb: str, hint: str
) -> None:
    write("train.py", f"import torch\n# torch-doctor: {verb}\nloss.backward()\n")
    outcome = run("scan")
    assert outcome.status == 1
    assert (
        f"train.py:2:1: unknown directive `torch-doctor: {verb.partition('=')[0]}`; `# torch-doctor: {hint}`"
        in outcome.err
    )
