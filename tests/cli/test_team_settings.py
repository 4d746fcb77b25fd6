"""Keys that a team writes once: which files are scanned, how serious each rule is, and what makes a scan fail."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pytest

from torch_doctor.cli.server import Finder
from torch_doctor.server.looking import Asked, look

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

pytestmark = pytest.mark.usefixtures("stand_ins")
Run = Any
BAD = "import torch\nloss.backward()\n"
WARNS = "import torch\noptimizer.step()\n"


def places(outcome: Any) -> list[tuple[str, str]]:
    return [(each["filename"], each["code"]) for each in outcome.json]


def in_editor(path: Path, folder: Path) -> list[str]:
    """Return the codes that an editor shows for a file."""
    return [finding.code for finding in look(Asked(path, path.read_bytes(), folder), Finder()).findings]


# --- files ---


def test_only_included_files_are_scanned_in_folders(run: Run, write: Callable[..., Path]) -> None:
    for name in ("src/a.py", "src/deep/b.py", "src/old/c.py", "train_x.py", "notes.py", "sub/src/d.py"):
        write(name, BAD)
    write("src/data.csv", "1,2\n")
    write("torch-doctor.toml", "include = ['/src', 'train_*.py']\nextend-exclude = ['old']\noutput-format = 'json'\n")
    included = ["src/a.py", "src/deep/b.py", "train_x.py"]
    assert run("scan", "--show-files").out.split() == included
    for _ in range(2):  # the second time from the cache
        assert [name for name, _ in places(run("scan"))] == included
    assert [name for name, _ in places(run("scan", "--config", "include = ['notes.py']"))] == ["notes.py"]
    assert [name for name, _ in places(run("scan"))] == included


def test_included_patterns_are_relative_to_the_file_that_has_them(
    run: Run, write: Callable[..., Path], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("torch-doctor.toml", "include = ['src/*.py']\n")
    write("src/a.py", BAD)
    write("src/src/b.py", BAD)
    monkeypatch.chdir(folder / "src")
    assert run("scan", "--show-files").out == "a.py\n"


def test_a_named_file_is_scanned_although_no_pattern_includes_it_unless_exclusion_is_forced(
    run: Run, write: Callable[..., Path], folder: Path
) -> None:
    write("src/a.py", BAD)
    other = write("b.py", BAD)
    write("torch-doctor.toml", "include = ['src']\noutput-format = 'json'\n")
    assert places(run("scan", "b.py")) == [("b.py", "TDR101")]
    assert places(run("scan", "--force-exclude", "--named-only", "b.py", "src/a.py")) == [("src/a.py", "TDR101")]
    assert in_editor(other, folder) == []
    assert in_editor(folder / "src/a.py", folder) == ["TDR101"]


def test_exclusion_can_be_forced_by_the_configuration(run: Run, write: Callable[..., Path]) -> None:
    write("third_party/a.py", BAD)
    write("b.py", BAD)
    settings = "extend-exclude = ['third_party']\noutput-format = 'json'\n"
    write("torch-doctor.toml", settings)
    assert len(places(run("scan", "b.py", "third_party/a.py"))) == 2
    write("torch-doctor.toml", settings + "force-exclude = true\n")
    assert places(run("scan", "b.py", "third_party/a.py")) == [("b.py", "TDR101")]


# --- the exit status ---


def test_the_level_that_fails_comes_from_the_configuration_and_options_win(
    run: Run, write: Callable[..., Path]
) -> None:
    write("train.py", WARNS)
    assert run("scan").status == 1
    write("torch-doctor.toml", "fail-level = 'error'\n")
    assert run("scan").status == 0
    assert run("scan", "--fail-level", "warning").status == 1
    assert run("scan", "--config", "fail-level = 'warning'").status == 1
    write("other.py", BAD)
    assert run("scan").status == 1


def test_a_level_that_does_not_exist_is_an_error_that_lists_the_levels(run: Run, write: Callable[..., Path]) -> None:
    path = write("torch-doctor.toml", "fail-level = 'fatal'\n")
    outcome = run("scan")
    said = '`fail-level` must be one of `advice`, `error`, `warning`, for example `fail-level = "error"`'
    assert (outcome.status, outcome.err) == (2, f"error: {path}: {said}\n")


# --- levels ---


def test_a_level_is_shown_in_every_format_and_decides_what_fails(run: Run, write: Callable[..., Path]) -> None:
    write("train.py", BAD + "optimizer.step()\n")
    write("torch-doctor.toml", "fail-level = 'error'\n[levels]\nTDR101 = 'warning'\nwhole-model-saved = 'warning'\n")
    for _ in range(2):  # the second time from the cache
        outcome = run("scan")
        assert (outcome.status, "Found 2 warnings in 1 file" in outcome.err) == (0, True)
    assert "warning[TDR101]" in outcome.out
    assert [each["level"] for each in run("scan", "--output-format", "json").json] == ["W", "W"]
    assert "::warning" in run("scan", "--output-format", "github").out
    (shown,) = run("scan", "--output-format", "sarif").json["runs"]
    assert {each["ruleId"]: each["level"] for each in shown["results"]} == {"TDR101": "warning", "TDR601": "warning"}
    by_code = {each["id"]: each["defaultConfiguration"]["level"] for each in shown["tool"]["driver"]["rules"]}
    assert by_code["TDR101"] == "warning"


def test_a_level_that_changes_is_not_hidden_by_the_cache(run: Run, write: Callable[..., Path], folder: Path) -> None:
    path = write("train.py", BAD)
    for level, status in (("error", 1), ("warning", 0), ("error", 1)):
        write("torch-doctor.toml", f"fail-level = 'error'\nlevels.TDR101 = '{level}'\n")
        outcome = run("scan")
        assert (outcome.status, f"{level}[TDR101]" in outcome.out) == (status, True)
        (finding,) = look(Asked(path, path.read_bytes(), folder), Finder()).findings
        assert finding.level.name.lower() == level


def test_advice_that_is_raised_is_reported_and_what_is_lowered_to_advice_is_not(
    run: Run, write: Callable[..., Path]
) -> None:
    write("train.py", BAD)
    asking = ("scan", "--output-format", "json", "--config")
    assert places(run(*asking, "levels = {}")) == [("train.py", "TDR101")]
    swapped = "levels = { TDR901 = 'warning', TDR1 = 'advice' }"
    assert places(run(*asking, swapped)) == [("train.py", "TDR901")]
    outcome = run(*asking, swapped, "--extend-select", "TDR1")
    assert [(each["code"], each["level"]) for each in outcome.json] == [("TDR101", "A"), ("TDR901", "W")]


def test_levels_of_a_shared_file_and_of_options_are_merged(run: Run, write: Callable[..., Path]) -> None:
    write("train.py", BAD + "optimizer.step()\n")
    write("shared/base.toml", "levels = { TDR101 = 'warning', TDR6 = 'error' }\n")
    write("torch-doctor.toml", "extend = 'shared/base.toml'\noutput-format = 'json'\nlevels.no-seed = 'error'\n")
    found = {each["code"]: each["level"] for each in run("scan").json}
    assert found == {"TDR101": "W", "TDR601": "E", "TDR901": "E"}
    outcome = run("scan", "--config", "levels.TDR6 = 'warning'", "--config", "levels.no-seed = 'advice'")
    assert {each["code"]: each["level"] for each in outcome.json} == {"TDR101": "W", "TDR601": "W"}
    shown = tomllib.loads(run("scan", "--show-settings").out)
    assert shown["levels"] == {"TDR101": "warning", "TDR6": "error", "no-seed": "error"}


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("levels.TDR777 = 'error'", "levels: unknown rule `TDR777`"),
        ("levels.missing-zero-gard = 'error'", "did you mean `missing-zero-grad`?"),
        (
            "levels.TDR101 = 'fatal'",
            "`levels.TDR101` must be one of `advice`, `error`, `warning`, for example `levels = ",
        ),
        ("levels = 'error'", "`levels` must be a table of levels, for example `levels = { TDR305 = "),
        ("fixable = ['TDR777']", "fixable: unknown rule `TDR777`"),
        ("extend-safe-fixes = ['missing-zero-gard']", "did you mean `missing-zero-grad`?"),
    ],
)
def test_a_table_or_list_of_rules_that_is_wrong_is_explained_in_one_line(
    run: Run, write: Callable[..., Path], setting: str, said: str
) -> None:
    path = write("torch-doctor.toml", setting + "\n")
    outcome = run("scan")
    assert (outcome.status, outcome.err.count("\n")) == (2, 1)
    assert outcome.err.startswith(f"error: {path}: ")
    assert said in outcome.err


# --- what is shown ---


def test_the_settings_in_effect_include_those_of_the_command_line(run: Run, write: Callable[..., Path]) -> None:
    write("torch-doctor.toml", "include = ['src']\nfail-level = 'error'\n")
    shown = tomllib.loads(run("scan", "--show-settings", "--fail-level", "warning", "--force-exclude").out)
    assert (shown["include"], shown["fail-level"], shown["force-exclude"]) == (["src"], "warning", True)
    shown = tomllib.loads(run("scan", "--show-settings").out)
    assert (shown["fail-level"], shown["force-exclude"]) == ("error", False)
