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


def test_a_configuration_extends_another_and_paths_start_where_they_are_said(
    folder: Path, write: Callable[..., Path]
) -> None:
    write(
        "shared/base.toml", "ignore = ['TDR6']\nextend-exclude = ['gen']\ncache-dir = 'kept'\noutput-format = 'json'\n"
    )
    path = write("torch-doctor.toml", "extend = 'shared/base.toml'\noutput-format = 'concise'\n")
    loaded = load(path)
    assert [(part.path, part.base) for part in loaded.parts] == [
        (folder / "shared/base.toml", folder / "shared"),
        (path, folder),
    ]
    assert (loaded.config.ignore, loaded.config.output_format) == (("TDR6",), "concise")
    assert loaded.saying("cache-dir").base == folder / "shared"
    assert loaded.saying("output-format").path == path


def test_what_is_extended_may_lie_in_the_home_folder(
    folder: Path, write: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(folder / "home"))
    write("home/team.toml", "select = ['TDR2']\n")
    assert load(write("torch-doctor.toml", "extend = '~/team.toml'\n")).config.select == ("TDR2",)


def test_what_is_extended_has_to_be_there(folder: Path, write: Callable[..., Path]) -> None:
    path = write("torch-doctor.toml", "extend = 'base.toml'\n")
    with pytest.raises(ConfigError) as error:
        load(path)
    assert str(error.value) == f"{path}: `extend`: {folder / 'base.toml'} does not exist"
    write("pyproject.toml", "[project]\nname = 'a'\n")
    write("torch-doctor.toml", "extend = 'pyproject.toml'\n")
    with pytest.raises(ConfigError, match=r"has no \[tool.torch-doctor\]"):
        load(path)


def test_configurations_do_not_extend_each_other(folder: Path, write: Callable[..., Path]) -> None:
    path = write("torch-doctor.toml", "extend = 'b.toml'\n")
    other = write("b.toml", "extend = './torch-doctor.toml'\n")
    with pytest.raises(ConfigError) as error:
        find(folder)
    assert str(error.value) == (f"{other}: `extend` leads in a circle: {path} extends {other} extends {path}")


@pytest.mark.parametrize("table", ["tool.torch_doctor", "tool.torchdoctor", "tool.Torch-Doctor", "torch-doctor"])
def test_a_table_that_is_nearly_ours_is_named(folder: Path, write: Callable[..., Path], table: str) -> None:
    path = write("pyproject.toml", f"[{table}]\nselect = ['TDR1']\n")
    assert find(folder).warnings == (f"{path}: [{table}] is not read: the table is called [tool.torch-doctor]",)


def test_a_file_that_is_nearly_ours_is_named(folder: Path, write: Callable[..., Path]) -> None:
    path = write("torch_doctor.toml", "select = ['TDR1']\n")
    write("torch-doctor.toml", "select = ['TDR2']\n")
    loaded = find(folder)
    assert loaded.config.select == ("TDR2",)
    assert loaded.warnings == (f"{path} is not read: a configuration is called `torch-doctor.toml`",)


def test_a_project_that_only_names_us_is_no_near_miss(folder: Path, write: Callable[..., Path]) -> None:
    write("pyproject.toml", "[project]\nname = 'a'\ndependencies = ['torch-doctor', 'torch_doctor']\n")
    assert find(folder).warnings == ()


def test_a_table_within_our_own_file_is_explained(write: Callable[..., Path]) -> None:
    with pytest.raises(ConfigError, match=r"write the keys of \[tool.torch-doctor\] without its name"):
        load(write("torch-doctor.toml", "[tool.torch-doctor]\nselect = ['TDR1']\n"))
