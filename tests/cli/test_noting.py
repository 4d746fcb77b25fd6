"""`scan --add-noqa`: what is found is suppressed by a comment at the right line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("stand_ins")
Run = Any


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("loss.backward()\n", "loss.backward()  # noqa: TDR101\n"),
        ("loss.backward()  # why\n", "loss.backward()  # why  # noqa: TDR101\n"),
        ("loss.backward()  # noqa: F401\n", "loss.backward()  # noqa: F401, TDR101\n"),
        ("loss.backward(); o.step()\n", "loss.backward(); o.step()  # noqa: TDR101, TDR601\n"),
        ("loss.backward(\n    2,\n)\n", "loss.backward(  # noqa: TDR101\n    2,\n)\n"),
        (
            "x = 1 + \\\n    loss.backward() + \\\n    2\n",
            "x = 1 + \\\n    loss.backward() + \\\n    2  # noqa: TDR101\n",
        ),
        ("loss.backward()\r\n", "loss.backward()  # noqa: TDR101\r\n"),
    ],
    ids=["plain", "comment", "noqa", "two", "statement of several lines", "continued line", "line ends of Windows"],
)
def test_a_finding_is_suppressed_where_a_comment_counts(
    folder: Path, write: Callable[..., Path], run: Run, before: str, after: str
) -> None:
    write("train.py", f"import torch\n{before}".encode())
    outcome = run("scan", "--add-noqa")
    assert (outcome.status, outcome.out) == (0, "")
    assert (folder / "train.py").read_bytes() == f"import torch\n{after}".encode()
    assert run("scan").status == 0
    assert "Suppressed 0 findings in 0 files." in run("scan", "--add-noqa").err
    assert (folder / "train.py").read_bytes() == f"import torch\n{after}".encode()


def test_a_reason_stands_behind_the_codes(folder: Path, write: Callable[..., Path], run: Run) -> None:
    write("train.py", "import torch\nloss.backward(); o.step()\n")
    outcome = run("scan", "--add-noqa=GH12 is open", "train.py")
    assert outcome.err == "Suppressed 2 findings in 1 file.\n"
    line = (folder / "train.py").read_text(encoding="utf-8").splitlines()[1]
    assert line == "loss.backward(); o.step()  # noqa: TDR101, TDR601 - GH12 is open"
    assert run("scan").status == 0


def test_the_option_takes_no_path_for_its_reason(folder: Path, write: Callable[..., Path], run: Run) -> None:
    write("train.py", "import torch\nloss.backward()\n")
    write("other.py", "import torch\nloss.backward()\n")
    run("scan", "--add-noqa", "train.py")
    assert "# noqa: TDR101\n" in (folder / "train.py").read_text(encoding="utf-8")
    assert "noqa" not in (folder / "other.py").read_text(encoding="utf-8")


def test_of_a_notebook_only_the_touched_cell_changes(write: Callable[..., Path], run: Run) -> None:
    path = write("train.ipynb", ["import torch", "md:Text", "x = 1\nloss.backward()\n"])
    before = json.loads(path.read_text(encoding="utf-8"))
    assert run("scan", "--add-noqa").status == 0
    after = json.loads(path.read_text(encoding="utf-8"))
    assert after["cells"][2].pop("source") == ["x = 1\n", "loss.backward()  # noqa: TDR101\n"]
    before["cells"][2].pop("source")
    assert after == before
    assert run("scan").status == 0


def test_what_cannot_be_suppressed_is_named(write: Callable[..., Path], run: Run) -> None:
    write("train.py", "import torch\nx = (\n")
    outcome = run("scan", "--add-noqa")
    assert "TDR000 cannot be suppressed" in outcome.err
    assert "Suppressed 0 findings" in outcome.err


def test_it_goes_neither_with_fix_nor_with_stdin(write: Callable[..., Path], run: Run) -> None:
    write("train.py", "import torch\nloss.backward()\n")
    outcome = run("scan", "--add-noqa", "--fix")
    assert (outcome.status, outcome.err) == (2, "error: --add-noqa cannot be used with --fix\n")


def test_a_second_run_adds_nothing(folder: Path, write: Callable[..., Path], run: Run) -> None:
    write("train.py", "import torch\nloss.backward()\n")
    run("scan", "--add-noqa")
    once = (folder / "train.py").read_text()
    assert once.count("TDR101") == 1
    for options in [(), ("--ignore-noqa",), ("--ignore-noqa",)]:
        assert run("scan", "--add-noqa", *options).err == "Suppressed 0 findings in 0 files.\n"
        assert (folder / "train.py").read_text() == once
