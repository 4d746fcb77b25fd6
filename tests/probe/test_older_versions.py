"""Projects that ask for a torch which cannot run here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from torch_doctor.probe.older_versions import unsupported
from torch_doctor.sources.pins import pinned

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.mark.parametrize(
    ("requirement", "python", "said"),
    [
        ("numpy", "3.14.0", ""),
        ("torch", "3.14.0", ""),
        ("torch==1.4.0", "3.11.7", "asks for torch 1.4, and the probe needs torch 2.4 or later"),
        ("torch>=1.4", "3.14.0", ""),
        ("torch==2.5.1", "3.12.1", ""),
        (
            "torch==2.5.1",
            "3.14.0",
            "asks for torch 2.5, which has no wheel for Python 3.14: pass an environment with Python 3.12",
        ),
        ("torch==2.9", "3.14.0", ""),
    ],
)
def test_a_version_that_cannot_be_had_is_named(tmp_path: Path, requirement: str, python: str, said: str) -> None:
    (tmp_path / "requirements.txt").write_text(requirement, encoding="utf-8")
    told = unsupported(pinned(tmp_path, tmp_path).newest, python)
    assert said in told
    assert bool(said) is bool(told)


@pytest.mark.usefixtures("farm", "records")
def test_it_is_said_where_a_script_fails(run: Any, write: Callable[..., Any]) -> None:
    write("pyproject.toml", "[tool.torch-doctor]\n")
    write("requirements.txt", "torch==1.4.0\n")
    write("train.py", "import torch\ntorch.not_there_any_more()\n")
    assert "asks for torch 1.4, and the probe needs" in run("scan", "train.py", "--probe", "--no-cache").err
    write("train.py", "import torch\n")
    assert "asks for" not in run("scan", "train.py", "--probe", "--no-cache").err
