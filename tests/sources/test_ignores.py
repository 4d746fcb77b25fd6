"""What is left out: as git says, and as exclude patterns say."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torch_doctor.sources.discovery import walk
from torch_doctor.sources.ignores import DEFAULT_EXCLUDE, Ignores, Patterns

if TYPE_CHECKING:
    from collections.abc import Callable

TREE = (
    "a.py",
    "b.py",
    "ab.py",
    "src/a.py",
    "src/b.py",
    "src/gen/a.py",
    "src/gen/keep/a.py",
    "gen/a.py",
    "gen/keep/b.py",
    "x y/a.py",
    "x y/[a].py",
    "deep/er/and/deeper/a.py",
)


def git(folder: Path, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True, check=True).stdout


def as_git_sees(folder: Path) -> set[str]:
    return set(git(folder, "ls-files", "--others", "--exclude-standard", "-z").split("\0")) - {""}


def as_we_see(folder: Path) -> set[str]:
    ignores = Ignores(frozenset({folder}), excludes=())
    return {path.relative_to(folder).as_posix() for path in walk(folder, ignores)}


@pytest.fixture
def repository(folder: Path, write: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository of Python files, out of reach of the user's own git configuration."""
    for variable in ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"):
        monkeypatch.setenv(variable, str(folder / "nowhere"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder / "nowhere"))
    git(folder, "init", "--quiet")
    for name in TREE:
        write(name, "")
    return folder


@pytest.mark.parametrize(
    ("top", "src"),
    [
        ("a.py\n", ""),
        ("/a.py\n", ""),
        ("gen\n", ""),
        ("gen/\n", "!gen/\n"),
        ("gen/*\n!gen/keep/\n", ""),
        ("gen/**\n!gen/keep/b.py\n", ""),
        ("*.py\n!/a.py\n", "!b.py\n"),
        ("**/a.py\n", "!a.py\n"),
        ("src/**/a.py\n", ""),
        ("deep/**/a.py\n", ""),
        ("deep/*/a.py\n", ""),
        ("deep/er\n", ""),
        ("er/and\n", ""),
        ("[ab].py\n", ""),
        ("[!a].py\n", ""),
        ("?b.py\n", ""),
        ("x\\ y/\n", ""),
        ("x y/\n", ""),
        ("\\[a\\].py\n", ""),
        ("# a.py\n\\#b.py\n", ""),
        ("a.py   \n", ""),
        ("!a.py\na.py\n", ""),
        ("a.py\r\nb.py\r\n", ""),
        ("\ufeffa.py\n", ""),
        ("gen\n!gen/a.py\n", ""),
        ("*\n!src\n", ""),
        ("*\n!*/\n!*.py\n", "*\n"),
        ("*\n!*/\n!b.py\n", ""),
        ("*.py\n!gen/\n", ""),
        ("/gen/**\n!/gen/**/\n!a.py\n", ""),
        ("/*\n!/src/\n/src/*\n!/src/gen/\n", ""),
        ("", "/gen/keep\n"),
    ],
)
def test_gitignore_files_mean_what_they_mean_to_git(
    repository: Path, write: Callable[..., Path], top: str, src: str
) -> None:
    write(".gitignore", top.encode())
    write("src/.gitignore", src.encode())
    assert as_we_see(repository) == {name for name in as_git_sees(repository) if name.endswith(".py")}


@pytest.mark.parametrize("name", sorted(DEFAULT_EXCLUDE))
def test_the_usual_folders_are_left_out_until_others_are_named(folder: Path, name: str) -> None:
    assert Ignores(frozenset({folder})).skips(str(folder), name, folder=True)
    assert not Ignores(frozenset({folder}), excludes=()).skips(str(folder), name, folder=True)


def test_a_path_is_left_out_with_any_folder_above_it(folder: Path, write: Callable[..., Path]) -> None:
    write(".gitignore", "out/\n")
    ignores = Ignores(frozenset({folder}), extra_excludes=(Patterns(folder, ("old",)),))
    assert not ignores.skips_path(folder / "src/a.py", folder)
    assert ignores.skips_path(folder / "src/out/a.py", folder)
    assert ignores.skips_path(folder / "old/new/a.py", folder)
    assert ignores.skips_path(folder / "node_modules/x/a.py", folder)
    assert ignores.skips_path(folder.parent / "a.py", folder)


def test_exclude_patterns_alone_can_be_asked(folder: Path, write: Callable[..., Path]) -> None:
    write(".gitignore", "out/\n")
    ignores = Ignores(frozenset({folder}), extra_excludes=(Patterns(folder, ("old", "*_pb.py")),))
    assert ignores.excludes_path(folder / "old/new/a.py", folder)
    assert ignores.excludes_path(folder / "src/a_pb.py", folder)
    assert ignores.excludes_path(folder / "build/a.py", folder)
    assert not ignores.excludes_path(folder / "out/a.py", folder)
    assert not ignores.excludes_path(folder / "build/a.py", folder / "build")


def test_patterns_of_another_place_say_nothing(folder: Path) -> None:
    ignores = Ignores(frozenset({folder}), extra_excludes=(Patterns(folder / "src", ("a.py",)),))
    assert ignores.skips(str(folder / "src"), "a.py", folder=False)
    assert not ignores.skips(str(folder), "a.py", folder=False)
    assert not ignores.skips(str(folder / "src2"), "a.py", folder=False)


def test_a_range_that_runs_backwards_spoils_nothing(folder: Path, write: Callable[..., Path]) -> None:
    write(".gitignore", "[z-a].py\n[[x]\n!\nb.py\n")
    ignores = Ignores(frozenset({folder}))
    assert [name for name in ("a.py", "b.py") if ignores.skips(str(folder), name, folder=False)] == ["b.py"]


@given(st.lists(st.text(alphabet="ab*?[]!/\\ #^-.", max_size=8), max_size=4))
def test_no_pattern_crashes(globs: list[str]) -> None:
    ignores = Ignores(frozenset(), extra_excludes=(Patterns(Path("/x"), tuple(globs)),))
    assert ignores.skips("/x", "a.py", folder=False) in (True, False)
