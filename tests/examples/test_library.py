"""The library of `examples/` that tells what it does, installed as a user would."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples/torch-doctor-example-library"
KNOWLEDGE = "tinytrain/torch_doctor_knowledge.py"
SCRIPT = """
import torch
from tinytrain import SignSGD, show_model
from torch import nn

model = nn.Linear(2, 1)
optimizer = SignSGD(model.parameters(), lr=0.1)
loader = torch.utils.data.DataLoader([(torch.randn(2), torch.randn(1))] * 8, batch_size=4, shuffle=True)
for x, y in loader:
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    show_model(model)
    optimizer.step()
torch.save(model, "model.pt")
"""
KNOWN = "train.py:11:5: TDR101 missing-zero-grad [*unsafe]: "
ANYWAY = "train.py:14:1: TDR601 whole-model-saved [*unsafe]: "


@pytest.fixture(scope="module")
def built(install: Callable[[Path], Path]) -> Path:
    return install(EXAMPLE)


@pytest.fixture
def site(built: Path, tmp_path: Path) -> Path:
    """A copy that a test may break."""
    return shutil.copytree(built, tmp_path / "site")


@pytest.fixture
def scanned(site: Path, write: Callable[..., Path], command: Callable[..., Any]) -> Callable[..., Any]:
    write("train.py", SCRIPT)
    return lambda: command(site, "torch_doctor", "scan", "train.py", "--output-format", "concise")


def test_its_optimizer_is_known_only_where_it_is_installed(
    scanned: Callable[..., Any], command: Callable[..., Any], tmp_path: Path
) -> None:
    first, second = scanned().stdout.splitlines()
    assert first.startswith(KNOWN)
    assert second.startswith(ANYWAY)
    elsewhere = command(tmp_path / "empty", "torch_doctor", "scan", "train.py", "--output-format", "concise")
    assert [line.startswith(ANYWAY) for line in elsewhere.stdout.splitlines()] == [True]


def test_another_version_of_the_file_is_read_although_the_scan_is_remembered(
    scanned: Callable[..., Any], site: Path
) -> None:
    assert KNOWN in scanned().stdout
    (site / KNOWLEDGE).write_text("from torch_doctor.knowledge import Library\nLIBRARY = Library()\n")
    assert KNOWN not in scanned().stdout


def test_the_library_itself_is_not_imported(site: Path, scanned: Callable[..., Any]) -> None:
    (site / "tinytrain/__init__.py").write_text("raise SystemExit(7)\n")
    assert KNOWN in scanned().stdout


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("import nowhere\n", r"\S+ cannot be read \(ModuleNotFoundError: No module named 'nowhere'\)"),
        ("import sys\nsys.exit(3)\n", r"\S+ cannot be read \(SystemExit: 3\)"),
        ("LIBRARY = (\n", r"\S+ cannot be read \(SyntaxError: .*\)"),
        ("LIBRARY = {{}}\n", r"`LIBRARY` in \S+ is no `torch_doctor.knowledge.Library`"),
        ("{import}LIBRARY = Library(harmless='tinytrain')\n", r"`harmless` in \S+ is 'tinytrain', and no tuple.*"),
        ("{import}LIBRARY = Library(clips={{'tinytrain.clip': 'first'}})\n", r"`clips` .*, and no Mapping\[str, int\]"),
        ("{import}LIBRARY = Library(losses={{'tinytrain.loss': 1}})\n", r"`losses` .*, and no Mapping\[str, Loss\]"),
        ("{import}LIBRARY = Library(frobs=())\n", r"\S+ cannot be read \(TypeError: Unexpected .* 'frobs'\)"),
        (None, "there is no module `tinytrain.torch_doctor_knowledge`"),
    ],
    ids=["import", "exit", "syntax", "type", "text", "number", "loss", "field", "gone"],
)
def test_a_bad_file_is_one_clear_line_and_the_scan_goes_on(
    site: Path, scanned: Callable[..., Any], source: str | None, said: str
) -> None:
    if source is None:
        (site / KNOWLEDGE).unlink()
    else:
        (site / KNOWLEDGE).write_text(source.format(**{"import": "from torch_doctor.knowledge import Library\n"}))
    for _ in range(2):  # the second time from what is remembered
        done = scanned()
        warning, *_ = done.stderr.splitlines()
        assert re.fullmatch(f"warning: the library descriptions of `tinytrain` are skipped: {said}", warning)
        assert done.stdout.startswith(ANYWAY)
        assert done.returncode == 1


def test_the_library_does_what_its_file_says(built: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    monkeypatch.syspath_prepend(built)
    library = __import__("tinytrain")
    model = torch.nn.Linear(1, 1, bias=False)
    torch.nn.init.ones_(model.weight)
    optimizer = library.SignSGD(model.parameters(), lr=0.5)
    model(torch.ones(1)).backward()
    library.show_model(model)
    optimizer.step()
    assert (model.weight.item(), model.weight.grad.item(), model.training) == (0.5, 1.0, True)
    sys.modules.pop("tinytrain")
