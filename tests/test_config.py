"""Which configurations are found and read, and the errors of invalid ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from torch_doctor import __version__
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
        (
            "select = 'TDR1'",
            '`select` must be a list of strings, for example `select = ["TDR1", "softmax-before-cross-entropy"]`',
        ),
        ("respect-gitignore = 'yes'", "`respect-gitignore` must be a bool, for example `respect-gitignore = false`"),
        ("select = [1]", "`select` must be a list of strings, for example"),
        (
            "per-file-ignores = { 'a.py' = 'TDR1' }",
            '`per-file-ignores."a.py"` must be a list of strings, for example `per-file-ignores = { "notebooks/*" = ',
        ),
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
    assert str(error.value) == (f"{other}: `extend` is circular: {path} extends {other} extends {path}")


@pytest.mark.parametrize("table", ["tool.torch_doctor", "tool.torchdoctor", "tool.Torch-Doctor", "torch-doctor"])
def test_a_table_that_is_nearly_ours_is_named(folder: Path, write: Callable[..., Path], table: str) -> None:
    path = write("pyproject.toml", f"[{table}]\nselect = ['TDR1']\n")
    assert find(folder).warnings == (f"{path}: [{table}] is ignored: rename it to [tool.torch-doctor]",)


def test_a_file_that_is_nearly_ours_is_named(folder: Path, write: Callable[..., Path]) -> None:
    path = write("torch_doctor.toml", "select = ['TDR1']\n")
    write("torch-doctor.toml", "select = ['TDR2']\n")
    loaded = find(folder)
    assert loaded.config.select == ("TDR2",)
    assert loaded.warnings == (f"{path} is ignored: rename it to `torch-doctor.toml`",)


def test_a_project_that_only_names_us_is_no_near_miss(folder: Path, write: Callable[..., Path]) -> None:
    write("pyproject.toml", "[project]\nname = 'a'\ndependencies = ['torch-doctor', 'torch_doctor']\n")
    assert find(folder).warnings == ()


def test_a_table_within_our_own_file_is_explained(write: Callable[..., Path]) -> None:
    with pytest.raises(ConfigError, match=r"in a torch-doctor.toml, write the keys without \[tool.torch-doctor\]"):
        load(write("torch-doctor.toml", "[tool.torch-doctor]\nselect = ['TDR1']\n"))


@pytest.mark.parametrize("required", [">=0.1", "==0.1.*", __version__, f"~={__version__}"])
def test_a_required_version_that_is_running_is_accepted(write: Callable[..., Path], required: str) -> None:
    assert load(write("torch-doctor.toml", f"required-version = '{required}'\n")).config.required_version == required


def test_another_version_than_the_required_one_is_an_error_before_keys_that_it_may_have(
    folder: Path, write: Callable[..., Path]
) -> None:
    path = write("torch-doctor.toml", "required-version = '>=99'\na-key-of-version-99 = true\n")
    with pytest.raises(ConfigError) as error:
        find(folder)
    said = f"requires torch-doctor >=99, but this is {__version__}; install a version that matches"
    assert str(error.value) == f"{path}: {said}"
    write("sub/torch-doctor.toml", "extend = '../torch-doctor.toml'\n")
    with pytest.raises(ConfigError, match="requires torch-doctor >=99"):
        find(folder / "sub")


def test_a_required_version_is_a_specifier(write: Callable[..., Path]) -> None:
    path = write("torch-doctor.toml", "required-version = 'newest'\n")
    with pytest.raises(ConfigError) as error:
        load(path)
    said = '`required-version`: `newest` is not a version specifier such as ">=0.1,<0.2"'
    assert str(error.value) == f"{path}: {said}"
