"""The rule pack of `examples/`, installed as a user would."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from torch_doctor.testing import wrong_in, wrong_on_page

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples/torch-doctor-example"


@pytest.fixture(scope="module")
def site(install: Callable[[Path], Path]) -> Path:
    return install(EXAMPLE)


@pytest.fixture
def installed(site: Path, command: Callable[..., Any]) -> Callable[..., Any]:
    return partial(command, site)


def test_its_rule_is_listed_explained_and_takes_part_in_a_scan(installed: Callable[..., Any]) -> None:
    assert "TDX101" in installed("torch_doctor", "rules").stdout
    assert "An `SGD` optimizer is built without momentum." in installed("torch_doctor", "rule", "TDX101").stdout
    path = EXAMPLE / "fixtures/TDX101/bad_linear.py"
    done = installed("torch_doctor", "scan", str(path), "--output-format", "json")
    assert done.stderr.startswith("Found 1 warning in 1 file")
    (finding,) = json.loads(done.stdout)
    assert (finding["code"], finding["location"]["row"]) == ("TDX101", 5)
    assert installed("torch_doctor", "scan", str(path), "--ignore", "sgd-without-momentum").returncode == 0


def test_its_own_tests_pass(installed: Callable[..., Any]) -> None:
    done = installed("pytest", "-q", "-p", "no:cacheprovider", "-c", str(EXAMPLE / "pyproject.toml"), str(EXAMPLE))
    assert done.returncode == 0, done.stdout
    assert "6 passed" in done.stdout


@pytest.fixture
def pack(site: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(site)
    return __import__("torch_doctor_example").rules


@pytest.mark.usefixtures("folder")
def test_what_a_pack_gets_wrong_is_told_in_a_line_each(pack: Any, write: Callable[..., Path]) -> None:
    build = "optimizer = torch.optim.SGD(torch.nn.Linear(2, 2).parameters(), 0.1)"
    path = write("two.py", f"import torch\n{build}\nprint('x')  # TDX101\n")
    assert wrong_in(path, pack()) == [
        "missed: two.py:3 TDX101",
        "false alarm: two.py:2 TDX101 `optimizer` is SGD without momentum: each step follows one batch",
    ]
    assert wrong_in(write("broken.py", "import torch\nprint 'x'\n"), pack())[0].startswith("false alarm: broken.py:2")
    assert wrong_in(write("book.ipynb", ["import torch", f"{build}  # TDX101"]), pack()) == []


@pytest.mark.parametrize(
    ("old", "new", "wrong"),
    [
        ("lr=0.1)", "lr=0.1, momentum=0.5)", "TDX101: the script of `## Example` has findings of no rule"),
        (", momentum=0.9", "", "TDX101: the script of `## Use instead` has findings of TDX101"),
        ("    -opt", "    -Opt", "TDX101: the lines of a hunk occur 0 times in the rest of the example:\n-Optim"),
        ("## Use instead", "## Instead", "TDX101: the page has no block of diff below `## Use instead`"),
    ],
)
def test_a_page_whose_examples_are_wrong_is_told(pack: Any, old: str, new: str, wrong: str) -> None:
    (rule,) = pack()
    changed = type(rule.__name__, (rule,), {"__doc__": rule.__doc__.replace(old, new)})
    changed.__module__ = rule.__module__
    assert any(line.startswith(wrong) for line in wrong_on_page("TDX101", [changed]))


def test_a_page_of_a_rule_that_is_not_there_is_an_error(pack: Any) -> None:
    with pytest.raises(ValueError, match="no rule has the code TDX999"):
        wrong_on_page("TDX999", pack())
