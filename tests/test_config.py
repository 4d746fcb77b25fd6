"""What a configuration can say, and what is said of one that makes no sense."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from torch_doctor.config import Config, ConfigError, find, load

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

EVERYTHING = """
select = ["TDR1"]
ignore = ["TDR102"]
extend-select = ["no-seed"]
exclude = ["old"]
extend-exclude = ["gen"]
respect-gitignore = false
output-format = "concise"
[{table}per-file-ignores]
"tests/*.py" = ["TDR601"]
"""


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("pyproject.toml", "[tool.torch-doctor]\n" + EVERYTHING.format(table="tool.torch-doctor.")),
        ("torch-doctor.toml", EVERYTHING.format(table="")),
        (".torch-doctor.toml", EVERYTHING.format(table="")),
    ],
)
def test_all_keys_are_read(folder: Path, write: Callable[..., Path], name: str, content: str) -> None:
    path = write(name, content)
    loaded = find(folder)
    assert (loaded.path, loaded.base) == (path, folder)
    assert loaded.config == Config(
        select=("TDR1",),
        ignore=("TDR102",),
        extend_select=("no-seed",),
        exclude=("old",),
        extend_exclude=("gen",),
        per_file_ignores={"tests/*.py": ("TDR601",)},
        respect_gitignore=False,
        output_format="concise",
    )


def test_without_a_file_the_defaults_hold(folder: Path) -> None:
    assert find(folder).config == Config()


def test_the_nearest_file_with_our_table_is_used(folder: Path, write: Callable[..., Path]) -> None:
    write("pyproject.toml", "[tool.torch-doctor]\nselect = ['TDR1']\n")
    write("pkg/pyproject.toml", "[project]\nname = 'torch-doctor-user'\n")
    write("pkg/deep/torch-doctor.toml", "select = ['TDR2']\n")
    assert find(folder / "pkg").config.select == ("TDR1",)
    assert find(folder / "pkg/deep").config.select == ("TDR2",)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("slect = ['TDR1']", "unknown key `slect`; did you mean `select`?"),
        ("extend_select = []", "unknown key `extend_select`; did you mean `extend-select`?"),
        ("select = 'TDR1'", "`select`: expected array, got str"),
        ("respect-gitignore = 'yes'", "`respect-gitignore`: expected bool, got str"),
        ("select = [1]", "`select[0]`: expected str, got int"),
        ("select = [", "not valid TOML"),
    ],
)
def test_what_makes_no_sense_is_said_with_the_file(write: Callable[..., Path], content: str, said: str) -> None:
    path = write("torch-doctor.toml", content)
    with pytest.raises(ConfigError) as error:
        load(path)
    assert str(error.value).startswith(f"{path}: ")
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_our_table_in_a_pyproject_is_named(write: Callable[..., Path]) -> None:
    path = write("pyproject.toml", "[tool.torch-doctor]\nslect = []\n")
    with pytest.raises(ConfigError, match=r"\[tool.torch-doctor\]: unknown key `slect`"):
        load(path)


def test_a_file_that_is_not_there_is_an_error(folder: Path) -> None:
    with pytest.raises(ConfigError) as error:
        load(folder / "nope.toml")
    assert str(error.value) == f"{folder / 'nope.toml'}: No such file or directory"


def test_a_folder_is_no_configuration(folder: Path) -> None:
    with pytest.raises(ConfigError) as error:
        load(folder)
    assert str(error.value) == f"{folder}: Is a directory"
