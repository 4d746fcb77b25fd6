"""`torch-doctor scan`: statuses, streams, options."""

from __future__ import annotations

import io
import json
import re
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.folders import entries
from torch_doctor.cli.settings import Flags, settings

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

Run = Any  # arguments to outcome

BAD = "import torch\nloss.backward()\noptimizer.step()\n"
GOOD = "import torch\n"

pytestmark = pytest.mark.usefixtures("stand_ins")


def test_findings_go_to_stdout_and_leave_with_one(run: Run, write: Callable[..., Path]) -> None:
    write("train.py", BAD)
    outcome = run("scan", "--output-format", "concise")
    assert outcome.status == 1
    assert outcome.out.splitlines() == [
        "train.py:2:1: TDR101 missing-zero-grad: `loss` goes backward",
        "train.py:3:1: TDR601 whole-model-saved: `optimizer` steps",
    ]
    assert outcome.err == "Found 1 error and 1 warning in 1 file. Confirm with --probe.\n"


def test_nothing_found_leaves_with_zero(run: Run, write: Callable[..., Path]) -> None:
    write("train.py", GOOD)
    further = "Try --probe or `torch-doctor checkup {}`.\n"
    assert run("scan") == (0, "", f"No findings in 1 file. {further.format('SCRIPT')}")
    assert run("scan", "train.py").err == f"No findings in 1 file. {further.format('train.py')}"
    assert run("scan", "-q") == (0, "", "")


def test_full_is_the_default_format(run: Run, write: Callable[..., Path]) -> None:
    write("train.py", BAD)
    outcome = run("scan", "train.py")
    assert "  2 | loss.backward()\n    | ^^^^^^^^^^^^^^^\n" in outcome.out
    assert "- the loop begins here" in outcome.out
    assert "= help: call `zero_grad()`" in outcome.out


def test_exit_zero(run: Run, write: Callable[..., Path]) -> None:
    write("train.py", BAD)
    assert run("scan", "--exit-zero").status == 0


def test_quiet_prints_findings_and_errors_only(run: Run, write: Callable[..., Path]) -> None:
    write("train.py", BAD)
    outcome = run("scan", "-q", "train.py", "nope.py")
    assert outcome.out
    assert outcome.err == "error: nope.py does not exist\n"


def test_a_missing_path_is_an_error_and_the_others_are_reported(run: Run, write: Callable[..., Path]) -> None:
    write("train.py", BAD)
    outcome = run("scan", "nope.py", "train.py", "--output-format", "json")
    assert outcome.status == 2
    assert len(outcome.json) == 2
    assert outcome.err.splitlines()[0] == "error: nope.py does not exist"
    alone = run("scan", "nope.py")
    assert (alone.status, alone.err) == (2, "error: nope.py does not exist\n")


def test_a_folder_without_python_is_a_warning(run: Run, folder: Path) -> None:
    (folder / "data").mkdir()
    outcome = run("scan", "data")
    assert (outcome.status, outcome.out) == (0, "")
    assert outcome.err == "warning: no Python files or notebooks found under data\n"


def test_an_error_of_ours_is_one_line_and_the_rest_is_reported(run: Run, write: Callable[..., Path]) -> None:
    write("a.py", "import torch\nexplode\n")
    write("b.py", BAD)
    outcome = run("scan", "--output-format", "json")
    assert outcome.status == 2
    assert [finding["filename"] for finding in outcome.json] == ["b.py", "b.py"]
    assert outcome.err.startswith("error: internal error while scanning a.py: RuntimeError: boom")
    assert "Traceback" not in outcome.err
    assert "Traceback" in run("scan", "--verbose").err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["scan", "--select", "missing-zerograd"], "--select: unknown rule `missing-zerograd`; did you mean"),
        (["scan", "--ignore", "TDR777"], "--ignore: unknown rule `TDR777`"),
        (["scan", "--extend-select", "TDR1,,softmx"], "--extend-select: unknown rule `softmx`"),
        (["scan", "--output-format", "jsn"], "unknown output format `jsn`; did you mean `json`?"),
        (["scan", "--output-format", "xml"], "unknown output format `xml`; use one of full, short, concise, json"),
        (
            ["scan", "--output-format", "json", "--output-format", "full"],
            "only one output format can be written to stdout",
        ),
        (["scan", "--output-format", "json:a", "--output-format", "full:a"], "two output formats write to `a`"),
        (["scan", "--per-file-ignores", "tests"], "--per-file-ignores: `tests` is not a `pattern:selector`"),
        (["scan", "--per-file-ignores", "a.py:TDR777"], "--per-file-ignores: unknown rule `TDR777`"),
        (["scan", "--exclude", "!"], "--exclude: `!` is not a file pattern such as `tests/*.py`"),
        (["scan", "--extend-exclude", "old,!"], "--extend-exclude: `!` is not a file pattern"),
        (["scan", "--per-file-ignores", "!!:TDR1"], "--per-file-ignores: `!` is not a file pattern"),
        (["scan", "--slect", "x"], "--slect"),
        (["scan", "--config", "nope.toml"], "nope.toml: No such file"),
        (["scan", "--color", "blue"], "blue"),
        (["scan", ""], "empty path; use `.` for the current folder"),
        (
            ["scan", "--stdin-filename", "a.py", "b.py"],
            "--stdin-filename requires `-` as the path, not `",
        ),
        (["scna"], "unknown command `scna`; did you mean `scan`?"),
        (["rule", "TDR1"], "unknown rule `TDR1`; did you mean `TDR101`?"),
        (["rule", "missing-zerograd"], "unknown rule `missing-zerograd`; did you mean `missing-zero-grad`?"),
        (["trace", "."], ". is a folder"),
    ],
)
def test_what_makes_no_sense_is_one_line_and_leaves_with_two(run: Run, arguments: list[str], said: str) -> None:
    outcome = run(*arguments)
    assert outcome.status == 2
    assert outcome.out == ""
    (line,) = outcome.err.splitlines()
    assert line.startswith("error: ")
    assert said in line


def test_a_file_in_place_of_the_command_is_understood(run: Run, write: Callable[..., Path]) -> None:
    write("train.py", BAD)
    assert run("train.py").err == "error: unknown command `train.py`; did you mean `torch-doctor scan train.py`?\n"


def test_without_a_command_the_help_is_shown(run: Run) -> None:
    outcome = run()
    assert outcome.status == 2
    assert "Usage: torch-doctor" in outcome.err


def test_a_wrong_configuration_is_named(run: Run, write: Callable[..., Path]) -> None:
    path = write("pyproject.toml", "[tool.torch-doctor]\nslect = ['TDR1']\n")
    said = f"error: {path}: [tool.torch-doctor]: unknown key `slect`; did you mean `select`?\n"
    outcome = run("scan")
    assert (outcome.status, outcome.err) == (2, said)
    path.write_text("[tool.torch-doctor]\nselect = ['TDR777']\n", encoding="utf-8")
    assert run("scan").err.startswith(f"error: {path}: select: unknown rule `TDR777`")
    path.write_text("[tool.torch-doctor]\nextend-exclude = ['!']\n", encoding="utf-8")
    assert run("scan").err.startswith(f"error: {path}: extend-exclude: `!` is not a file pattern")
    path.write_text("[tool.torch-doctor]\noutput-format = 'jsn'\n", encoding="utf-8")
    assert run("scan").err == f"error: {path}: output-format: unknown output format `jsn`; did you mean `json`?\n"
    assert run("scan", "--isolated").status == 0


def test_a_working_directory_that_is_gone_is_one_clear_line(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "gone").mkdir()
    monkeypatch.chdir(folder / "gone")
    (folder / "gone").rmdir()
    said = "error: the working directory cannot be read: No such file or directory\n"
    assert run("scan") == run("trace", "a.py") == (2, "", said)


def codes(outcome: Any) -> list[str]:
    return [finding["code"] for finding in outcome.json]


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ([], ["TDR101", "TDR601"]),
        (["--select", "ALL"], ["TDR101", "TDR901", "TDR601"]),
        (["--select", "TDR6,no-seed"], ["TDR901", "TDR601"]),
        (["--select", "TDR1", "--select", "TDR6"], ["TDR101", "TDR601"]),
        (["--ignore", "missing-zero-grad"], ["TDR601"]),
        (["--extend-select", "TDR9"], ["TDR101", "TDR901", "TDR601"]),
        (["--per-file-ignores", "src/*:TDR1,src/*:TDR6"], []),
        (["--per-file-ignores", "!src/*:ALL"], ["TDR101", "TDR601"]),
        (["--exclude", "src"], []),
        (["--extend-exclude", "*rain.py"], []),
    ],
)
def test_options_choose_rules_and_files(
    run: Run, write: Callable[..., Path], options: list[str], found: list[str]
) -> None:
    write("src/train.py", BAD)
    assert codes(run("scan", "--output-format", "json", *options)) == found


def test_the_configuration_chooses_too_and_options_win(run: Run, write: Callable[..., Path]) -> None:
    write("src/train.py", BAD)
    write("src/old/train.py", BAD)
    write(
        "pyproject.toml",
        "[tool.torch-doctor]\nselect = ['TDR6']\noutput-format = 'json'\nextend-exclude = ['old']\n"
        "[tool.torch-doctor.per-file-ignores]\n'src/*.py' = ['TDR901']\n",
    )
    assert codes(run("scan", "src")) == ["TDR601"]
    assert codes(run("scan", "src", "--extend-select", "no-seed")) == ["TDR601"]
    assert codes(run("scan", "src", "--select", "TDR1")) == ["TDR101"]
    assert len(codes(run("scan", "--isolated", "--output-format", "json"))) == 4
    assert run("scan", "--output-format", "concise").out.startswith("src/train.py:3:1: TDR601")


def test_ignored_files_are_looked_at_on_request(run: Run, write: Callable[..., Path]) -> None:
    write("out/train.py", BAD)
    write(".gitignore", "out/\n")
    assert run("scan", "-q").status == 0
    assert run("scan", "-q", "--no-respect-gitignore").status == 1
    assert run("scan", "-q", "out/train.py").status == 1
    write("pyproject.toml", "[tool.torch-doctor]\nrespect-gitignore = false\n")
    assert run("scan", "-q").status == 1


def test_excluded_files_that_are_named_are_looked_at_unless_excludes_are_forced(
    run: Run, write: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    write("third_party/train.py", BAD)
    write("build/train.py", BAD)
    write("pyproject.toml", "[tool.torch-doctor]\nextend-exclude = ['third_party']\n")
    named = ["third_party/train.py", "build/train.py"]
    assert len(codes(run("scan", "--output-format", "json", *named))) == 4
    assert run("scan", "--force-exclude", *named) == (0, "", "")
    stdin(monkeypatch, BAD)
    assert run("scan", "--force-exclude", "--stdin-filename", "third_party/train.py") == (0, "", "")


def test_formats_go_to_files(run: Run, write: Callable[..., Path], folder: Path) -> None:
    write("train.py", BAD)
    outcome = run(
        "scan", "--output-format", "concise", "--output-format", "json:out.json", "--output-format", "sarif:out.sarif"
    )
    assert len(outcome.out.splitlines()) == 2
    assert len(json.loads((folder / "out.json").read_text(encoding="utf-8"))) == 2
    assert json.loads((folder / "out.sarif").read_text(encoding="utf-8"))["version"] == "2.1.0"
    assert entries(folder) == [
        ".torch_doctor_cache",
        "out.json",
        "out.sarif",
        "train.py",
    ]


def test_a_file_is_replaced_as_a_whole_or_not_at_all(run: Run, write: Callable[..., Path], folder: Path) -> None:
    write("train.py", BAD)
    write("out.json", "old")
    assert run("scan", "--output-format", "json:out.json").out == ""
    assert (folder / "out.json").read_text(encoding="utf-8").startswith("[")
    outcome = run("scan", "--output-format", "json:nowhere/out.json")
    assert outcome.status == 2
    assert outcome.err == "error: nowhere/out.json cannot be written: No such file or directory\n"


def test_a_broken_notebook_is_told(run: Run, write: Callable[..., Path]) -> None:
    write("cut.ipynb", '{"cells": [{"cell_type": "code", "source": ["import torch"')
    write("early.ipynb", '{"cells": [{"cell_type": "code", "source": ["import num')
    write("merged.ipynb", '<<<<<<< HEAD\n{"cells": [{"source": "import torch"}]}\n')
    outcome = run("scan", "--output-format", "concise")
    assert outcome.status == 1
    assert re.findall(r"^(\w+\.ipynb:\d+:\d+: TDR000)", outcome.out, flags=re.MULTILINE) == [
        "cut.ipynb:1:59: TDR000",
        "early.ipynb:1:45: TDR000",
        "merged.ipynb:1:1: TDR000",
    ]


def test_statistics(run: Run, write: Callable[..., Path]) -> None:
    write("train.py", BAD + "loss.backward()\n")
    assert run("scan", "--statistics").out == "2  TDR101  missing-zero-grad\n1  TDR601  whole-model-saved\n"
    assert run("scan", "--statistics", "--output-format", "json").json[0]["count"] == 2


def stdin(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))


def test_source_comes_from_stdin(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    stdin(monkeypatch, BAD)
    assert run("scan", "-", "--output-format", "concise").out.startswith("-:2:1: TDR101")


def test_stdin_stands_for_a_file_of_the_project(
    run: Run, write: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, notebook: Callable[[list[str]], str]
) -> None:
    write("pyproject.toml", "[tool.torch-doctor.per-file-ignores]\n'src/*' = ['TDR6']\n")
    write("src/train.py", GOOD)
    stdin(monkeypatch, BAD)
    outcome = run("scan", "-", "--stdin-filename", "src/train.py", "--output-format", "concise")
    assert outcome.out == "src/train.py:2:1: TDR101 missing-zero-grad: `loss` goes backward\n"
    stdin(monkeypatch, notebook(["x = 1", BAD]))
    outcome = run("scan", "--stdin-filename", "src/new.ipynb", "--output-format", "concise")
    assert outcome.out.startswith("src/new.ipynb:cell 2:2:1: TDR101")


@pytest.mark.parametrize(
    ("options", "environment", "colours"),
    [
        ([], {}, False),
        (["--color", "always"], {}, True),
        (["--color", "never"], {"FORCE_COLOR": "1"}, False),
        ([], {"FORCE_COLOR": "1"}, True),
        ([], {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
        (["--color", "always"], {"NO_COLOR": "1"}, True),
    ],
)
def test_colours_are_where_they_are_wanted(
    run: Run,
    write: Callable[..., Path],
    monkeypatch: pytest.MonkeyPatch,
    options: list[str],
    environment: dict[str, str],
    colours: bool,
) -> None:
    write("train.py", BAD)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert ("\x1b[" in run("scan", *options).out) is colours


def test_files_never_get_colours(run: Run, write: Callable[..., Path], folder: Path) -> None:
    write("train.py", BAD)
    run("scan", "--color", "always", "--output-format", "full:out.txt")
    assert "\x1b" not in (folder / "out.txt").read_text(encoding="utf-8")


def test_what_was_not_followed_is_told_on_request(run: Run, write: Callable[..., Path]) -> None:
    write("train.py", "import torch\nx = " + "-" * 100_000 + "1\n")
    told = run("scan", "--verbose").err + run("scan", "--verbose").out
    assert "train.py:1:1: skipped: nested too deeply" in told or "too many nested" in told


def test_a_path_that_is_no_text_can_be_reported(run: Run, folder: Path) -> None:
    name = b"tr\xe4n.py".decode("utf-8", "surrogateescape")
    try:
        (folder / name).write_text(BAD, encoding="utf-8")
    except OSError:
        pytest.skip("this file system knows no such name")
    assert run("scan", "--output-format", "json").status == 1


def test_the_cache_option_is_accepted(run: Run, write: Callable[..., Path]) -> None:
    write("train.py", GOOD)
    assert run("scan", "--no-cache").status == 0


def test_interruption_is_quiet(run: Run, write: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    write("train.py", BAD)

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("torch_doctor.scan.scan", interrupt)
    outcome = run("scan")
    assert (outcome.status, outcome.out, outcome.err.strip()) == (130, "", "")


LOADS = "import torch\nstate = torch.load('model.pt')\n"


def test_the_torch_version_of_the_configuration_is_what_a_scan_goes_by(write: Callable[..., Path]) -> None:
    write("train.py", LOADS)
    assert settings(Flags(paths=("train.py",)))[0].torch is None
    write("torch-doctor.toml", 'torch-version = ">=2.6,<2.8"\n')
    assert settings(Flags(paths=("train.py",)))[0].torch == ((2, 6), (2, 7))


def test_a_torch_version_that_means_nothing_is_one_clear_line(write: Callable[..., Path], run: Run) -> None:
    write("train.py", LOADS)
    write("torch-doctor.toml", 'torch-version = "newest"\n')
    outcome = run("scan")
    assert outcome.status == 2
    assert "torch-doctor.toml: `torch-version`: `newest` is neither a torch version nor a version range" in outcome.err


def test_the_environment_that_is_named_has_to_be_there(run: Run, write: Callable[..., Path]) -> None:
    write("train.py", "import torch\n")
    outcome = run("scan", "--python", "nowhere", "train.py")
    assert outcome == (2, "", "error: nowhere does not exist: `--python` takes an interpreter or an environment\n")


@pytest.mark.parametrize(("level", "status"), [("error", 0), ("warning", 1), ("advice", 1)])
def test_findings_below_a_level_do_not_fail(run: Run, write: Callable[..., Path], level: str, status: int) -> None:
    write("train.py", BAD)
    outcome = run("scan", "--isolated", "--select", "TDR601", "--fail-level", level)
    assert "TDR601" in outcome.out
    assert outcome.status == status


def test_what_would_go_to_stdout_goes_to_a_file(run: Run, write: Callable[..., Path], folder: Path) -> None:
    write("train.py", BAD)
    printed = run("scan", "--output-format", "concise").out
    outcome = run("scan", "--output-format", "concise", "--output-format", "json:all.json", "-o", "report.txt")
    assert outcome.out == ""
    assert (folder / "report.txt").read_text(encoding="utf-8") == printed
    assert (folder / "all.json").exists()


def test_a_file_for_nothing_is_an_error(run: Run) -> None:
    outcome = run("scan", "--output-format", "json:all.json", "--output-file", "report.txt")
    assert outcome.status == 2
    assert "--output-file report.txt has no report to write: every output format has its own file" in outcome.err
