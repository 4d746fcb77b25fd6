"""Rules that compare scripts of one project: in one process or several, and with what is remembered of a script."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

Run = Any  # arguments to outcome
FIXTURE = Path(__file__).parents[2] / "fixtures/TDR713/bad_second_script_predicts"


def reported(run: Run, *arguments: str) -> list[str]:
    """The files in which TDR713 is reported."""
    found = run("scan", "--select", "TDR713", "--output-format", "json", *arguments).json
    return [Path(each["filename"]).name for each in found]


def project(write: Callable[..., Path]) -> None:
    for path in FIXTURE.glob("*.py"):
        write(path.name, path.read_text(encoding="utf-8"))


def test_scripts_are_compared_in_any_number_of_processes(run: Run, write: Callable[..., Path]) -> None:
    project(write)
    assert reported(run, "--jobs", "1", "--no-cache", ".") == ["predict.py"]
    assert reported(run, "--jobs", "2", "--no-cache", ".") == ["predict.py"]


def test_one_script_alone_is_not_compared(run: Run, write: Callable[..., Path]) -> None:
    project(write)
    assert reported(run, "--no-cache", "predict.py") == []


def test_what_is_remembered_of_one_script_is_compared_with_another_that_changes(
    run: Run, write: Callable[..., Path]
) -> None:
    project(write)
    assert reported(run, ".") == ["predict.py"]
    source = (FIXTURE / "predict.py").read_text(encoding="utf-8")
    numbers = "transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])"
    write("predict.py", source.replace("transforms.ToTensor()])", f"transforms.ToTensor(), {numbers}])"))
    assert reported(run, ".") == []
    write("predict.py", source)
    assert reported(run, ".") == ["predict.py"]
