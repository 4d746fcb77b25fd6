"""Whose libraries a scan reads, by its options and the configuration."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from torch_doctor.cli.libraries import environment
from torch_doctor.config import Config, LoadedConfig, Part, Probe
from torch_doctor.scan import Environment

if TYPE_CHECKING:
    from collections.abc import Callable


def loaded(config: Config, base: Path = Path()) -> LoadedConfig:
    return LoadedConfig(config, base, parts=(Part(config, base, said=frozenset({"probe.python"})),))


@pytest.fixture(autouse=True)
def _cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


def test_by_default_the_projects_own_with_answers_among_the_users_caches(tmp_path: Path) -> None:
    assert environment(None, loaded(Config())) == Environment("", tmp_path / "torch-doctor")


def test_nothing_is_kept_without_a_cache() -> None:
    assert environment(None, loaded(Config()), cache=False) == Environment("", None)


def test_none_where_the_configuration_says_so() -> None:
    assert environment(None, loaded(Config(installed_libraries=False))) is None


def test_one_that_is_named_counts_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "python").touch()
    asked = str(tmp_path / "python")
    assert environment(asked, loaded(Config(installed_libraries=False)), cache=False) == Environment(asked, None)


def test_the_configuration_names_one_relative_to_its_file_which_need_not_exist(
    folder: Path, write: Callable[..., Path]
) -> None:
    config = loaded(Config(probe=Probe(python="envs/python")), folder)
    assert environment(None, config, cache=False) == Environment("", None)
    python = write("envs/python", "")
    assert environment(None, config, cache=False) == Environment(str(python), None)
    other = write("other", "")
    assert environment(str(other), config, cache=False) == Environment(str(other), None)
    none = loaded(Config(probe=Probe(python="envs/python"), installed_libraries=False), folder)
    assert environment(None, none, cache=False) is None
