"""The benchmarks say what keeps them from running; what they measure is not asserted."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.repositories import commit, git, init

pytestmark = pytest.mark.tools
BENCHMARKS = Path(__file__).parent / "benchmarks"


def run(*arguments: str | Path, benchmark: str = "scan.py") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, BENCHMARKS / benchmark, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_missing_folder_is_one_clear_line(tmp_path: Path) -> None:
    done = run(tmp_path / "nope")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines() == [f"{tmp_path / 'nope'} is no folder"]


def test_a_folder_without_torch_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("import torchless\n", encoding="utf-8")
    done = run(tmp_path, "--rivals", tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines()[-1] == f"{tmp_path} holds no Python file that imports torch"


def test_it_measures_without_other_linters_where_they_are_not_there(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("import torch\n", encoding="utf-8")
    done = run(tmp_path, "--repeat", "1", "--rivals", tmp_path)
    assert done.returncode == 0
    assert done.stderr.startswith(f"without other linters: {tmp_path} is no environment with torchfix")
    assert "| folder | files | cold | against libcst |" in done.stdout
    assert "torchfix" not in done.stdout


def test_it_leaves_the_folder_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("import torch\n", encoding="utf-8")
    done = run(tmp_path, "--repeat", "1", "--rivals", tmp_path, "--json")
    figures = json.loads(done.stdout)
    assert figures["folders"][tmp_path.name]["files"] == 1
    assert figures["folders"][tmp_path.name].pop("wanted") == ""
    assert all(number > 0 for number in figures["folders"][tmp_path.name].values())
    assert [path.name for path in tmp_path.iterdir()] == ["a.py"]
    assert (tmp_path / "a.py").read_text(encoding="utf-8") == "import torch\n"


def test_rows_whose_repositories_are_cloned_are_measured_with_their_bars(tmp_path: Path) -> None:
    work = tmp_path / "work"
    init(work)
    commit(work, {"src/a.py": "import torch\n", "b.py": "import torch\n"})
    git(tmp_path, "clone", "--quiet", "--bare", str(work), str(tmp_path / "clones/huggingface+peft"))
    done = run("--clones", tmp_path / "clones", "--repeat", "1", "--rivals", tmp_path, "--json")
    assert done.returncode == 0, done.stderr
    folders = json.loads(done.stdout)["folders"]
    assert {name: (each["files"], each["wanted"]) for name, each in folders.items()} == {"peft src": (1, "5 ×")}


def test_that_of_the_probe_measures_the_whole_command_and_single_steps() -> None:
    few = ("--repeat", "1", "--steps", "24", "--model", "small transformer")  # each of them takes two imports of torch
    done = run(*few, "--json", benchmark="probe.py")
    assert done.returncode == 0, done.stderr
    numbers = json.loads(done.stdout)
    assert {"whole", "small transformer"} <= numbers.keys()
    assert all(number > 0 for name, number in numbers.items() if not name.endswith("_first_ms"))
