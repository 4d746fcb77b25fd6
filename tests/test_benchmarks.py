"""The benchmarks say what keeps them from running; what they measure is not asserted."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

BENCHMARK = Path(__file__).parent / "benchmarks" / "scan.py"


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, BENCHMARK, *arguments], capture_output=True, text=True, check=False)


def test_a_missing_folder_is_one_clear_line(tmp_path: Path) -> None:
    done = run(tmp_path / "nope")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines() == [f"{tmp_path / 'nope'} is no folder"]


def test_a_folder_without_torch_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("import torchless\n", encoding="utf-8")
    done = run(tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines() == [f"{tmp_path} holds no Python file that imports torch"]


def test_it_measures_without_torchfix_where_that_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("import torch\n", encoding="utf-8")
    done = run(tmp_path, "--repeat", "1", "--torchfix", tmp_path)
    assert done.returncode == 0
    assert done.stderr.startswith(f"without TorchFix: {tmp_path} is no environment with TorchFix")
    assert "against libcst.parse_module" in done.stdout
    assert "faster than TorchFix" not in done.stdout
