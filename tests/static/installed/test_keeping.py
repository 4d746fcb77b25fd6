"""Answers are kept by package and version, and asked again where that is not enough."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from torch_doctor.static.installed import answers, distributions
from torch_doctor.static.installed import environment as asking
from torch_doctor.static.installed.environment import Installed
from torch_doctor.static.installed.whose import Environment

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

NET = """
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.{}
"""


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names about which the sources were asked."""
    names: list[str] = []
    answer = answers.answer

    def noting(library: object, place: object) -> object:
        names.append(place.name)  # type: ignore[attr-defined]
        return answer(library, place)  # type: ignore[arg-type]

    monkeypatch.setattr(asking, "answer", noting)
    return names


@pytest.fixture
def sensitive(environment: Path, tmp_path: Path) -> Callable[[], bool]:
    """Ask about a class as a new scan would."""

    def ask() -> bool:
        distributions.distribution.cache_clear()
        found = Installed(Environment(str(environment), tmp_path / "cache"), tmp_path).builds("nets_lib.deep.Net")
        assert found is not None
        return bool(found.cares)

    return ask


@pytest.fixture(autouse=True)
def _known_anew() -> None:
    distributions.distribution.cache_clear()
    distributions._records.cache_clear()  # noqa: SLF001 - as above


def test_a_second_scan_asks_nothing(
    install: Callable[..., None], sensitive: Callable[[], bool], asked: list[str]
) -> None:
    install("nets_lib/deep.py", NET.format("Dropout()"), "1.0")
    assert [sensitive(), sensitive()] == [True, True]
    assert asked == ["Net"]


def test_without_a_version_nothing_is_kept(
    install: Callable[..., None], sensitive: Callable[[], bool], tmp_path: Path
) -> None:
    install("nets_lib/deep.py", NET.format("Dropout()"))
    assert sensitive() is True
    assert not (tmp_path / "cache").exists()


def test_a_broken_file_is_as_good_as_none(
    install: Callable[..., None], sensitive: Callable[[], bool], tmp_path: Path, asked: list[str]
) -> None:
    install("nets_lib/deep.py", NET.format("Dropout()"), "1.0")
    sensitive()
    (kept,) = (tmp_path / "cache" / "libraries").iterdir()
    for text in ("", "{", '{"nets_lib.deep.Net": 3}', "\x00"):
        kept.write_text(text, encoding="utf-8")
        assert sensitive() is True
    assert asked == ["Net"] * 5


def test_a_folder_that_cannot_be_written_to_is_left_alone(
    install: Callable[..., None], sensitive: Callable[[], bool], tmp_path: Path
) -> None:
    install("nets_lib/deep.py", NET.format("Dropout()"), "1.0")
    (tmp_path / "cache").write_text("a file", encoding="utf-8")
    assert sensitive() is True
