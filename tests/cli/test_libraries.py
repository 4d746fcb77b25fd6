"""Whose libraries a scan reads, by its options and the configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from torch_doctor.cli.libraries import environment
from torch_doctor.config import Config
from torch_doctor.scan import Environment

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def _cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


def test_by_default_the_projects_own_with_answers_among_the_users_caches(tmp_path: Path) -> None:
    assert environment(None, Config()) == Environment("", tmp_path / "torch-doctor")


def test_nothing_is_kept_without_a_cache() -> None:
    assert environment(None, Config(), cache=False) == Environment("", None)


def test_none_where_the_configuration_says_so() -> None:
    assert environment(None, Config(installed_libraries=False)) is None


def test_one_that_is_named_counts_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "python").touch()
    asked = str(tmp_path / "python")
    assert environment(asked, Config(installed_libraries=False), cache=False) == Environment(asked, None)
