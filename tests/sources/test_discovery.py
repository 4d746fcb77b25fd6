"""From paths to files: what is walked, what is left out, where a project begins."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from torch_doctor.sources.discovery import discover, outer_root, root_of, walk
from torch_doctor.sources.ignores import Ignores, Patterns

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def found(folder: Path, **options: object) -> list[str]:
    ignores = Ignores(frozenset({folder}), **options)  # type: ignore[arg-type]  # each test gives the right ones
    return [path.relative_to(folder).as_posix() for path in walk(folder, ignores)]


@pytest.fixture
def files(write: Callable[..., Path]) -> Callable[..., None]:
    def make(*names: str) -> None:
        for name in names:
            write(name, "")

    return make


def test_python_files_and_notebooks_are_found_in_order(folder: Path, files: Callable[..., None]) -> None:
    files("b.py", "a.ipynb", "c/d.pyw", "e.pyi", "f.txt", "g")
    assert found(folder) == ["a.ipynb", "b.py", "c/d.pyw"]


@pytest.mark.parametrize("name", [".venv", "node_modules", "__pycache__", "build", "dist", "site-packages", ".git"])
def test_usual_folders_are_left_out(folder: Path, files: Callable[..., None], name: str) -> None:
    files("a.py", f"{name}/b.py", f"src/{name}/c.py")
    assert found(folder) == ["a.py"]


def test_an_environment_by_another_name_is_left_out(folder: Path, files: Callable[..., None]) -> None:
    files("a.py", "myenv/pyvenv.cfg", "myenv/lib/b.py")
    assert found(folder) == ["a.py"]


def test_exclude_replaces_the_usual_folders(folder: Path, files: Callable[..., None]) -> None:
    files("a.py", "build/b.py", "old/c.py")
    assert found(folder, excludes=(Patterns(folder, ("old",)),)) == ["a.py", "build/b.py"]


def test_extend_exclude_adds_to_them(folder: Path, files: Callable[..., None]) -> None:
    files("a.py", "build/b.py", "old/c.py", "x_test.py", "deep/old/d.py")
    assert found(folder, extra_excludes=(Patterns(folder, ("old", "*_test.py")),)) == ["a.py"]


def test_a_pattern_with_a_slash_begins_at_its_base(folder: Path, files: Callable[..., None]) -> None:
    files("old/a.py", "src/old/b.py")
    assert found(folder, extra_excludes=(Patterns(folder, ("old/*.py",)),)) == ["src/old/b.py"]


def gitignore(write: Callable[..., Path], name: str, *lines: str) -> None:
    write(name, "\n".join(lines) + "\n")


def test_gitignore_files_are_honoured_wherever_they_lie(
    folder: Path, files: Callable[..., None], write: Callable[..., Path]
) -> None:
    files("a.py", "out/b.py", "src/c.py", "src/gen/d.py", "src/keep.gen.py", "src/e.gen.py")
    gitignore(write, ".gitignore", "# a comment", "", "/out/", "*.gen.py")
    gitignore(write, "src/.gitignore", "gen", "!keep.gen.py")
    assert found(folder) == ["a.py", "src/c.py", "src/keep.gen.py"]
    assert len(found(folder, respect_gitignore=False)) == 6


def test_a_gitignore_above_the_start_counts_up_to_the_repository(
    folder: Path, files: Callable[..., None], write: Callable[..., Path]
) -> None:
    files("repo/pkg/a.py", "repo/pkg/b.py", "repo/.git/HEAD")
    gitignore(write, ".gitignore", "a.py")
    gitignore(write, "repo/.gitignore", "b.py")
    ignores = Ignores(frozenset({folder}))
    assert [path.name for path in walk(folder / "repo/pkg", ignores)] == ["a.py"]


def test_the_repositorys_private_excludes_count(
    folder: Path, files: Callable[..., None], write: Callable[..., Path]
) -> None:
    files("a.py", "b.py")
    gitignore(write, ".git/info/exclude", "b.py")
    assert found(folder) == ["a.py"]


def test_a_broken_line_in_a_gitignore_spoils_nothing(
    folder: Path, files: Callable[..., None], write: Callable[..., Path]
) -> None:
    files("a.py", "b.py")
    gitignore(write, ".gitignore", "!", "b.py")
    assert found(folder) == ["a.py"]


def test_links_in_a_circle_end(folder: Path, files: Callable[..., None]) -> None:
    files("a/b.py")
    (folder / "a/loop").symlink_to(folder, target_is_directory=True)
    (folder / "gone.py").symlink_to(folder / "nowhere.py")
    assert found(folder) == ["a/b.py"]


def discovered(paths: Sequence[Path]) -> tuple[list[str], list[str], list[str]]:
    result = discover(paths, Ignores(frozenset({Path.cwd()})))
    return [path.name for path in result.files], result.errors, result.warnings


def test_what_is_named_is_taken_whatever_it_is(
    folder: Path, files: Callable[..., None], write: Callable[..., Path]
) -> None:
    files("script", "ignored.py", "build/a.py")
    gitignore(write, ".gitignore", "ignored.py")
    names, errors, _ = discovered([folder / "script", folder / "ignored.py", folder / "build"])
    assert names == ["script", "ignored.py", "a.py"]
    assert errors == []


def test_a_file_that_is_named_twice_is_taken_once(folder: Path, files: Callable[..., None]) -> None:
    files("a.py")
    (folder / "link.py").symlink_to(folder / "a.py")
    assert discovered([folder / "a.py", folder, folder / "link.py"])[0] == ["a.py"]


def test_a_missing_path_is_an_error_and_the_others_are_taken(folder: Path, files: Callable[..., None]) -> None:
    files("a.py")
    names, errors, _ = discovered([folder / "nope.py", folder / "a.py"])
    assert names == ["a.py"]
    assert errors == ["nope.py does not exist"]


def test_a_link_that_leads_nowhere_is_told_as_one(folder: Path) -> None:
    (folder / "gone.py").symlink_to("nowhere.py")
    (folder / "a.py").symlink_to("b.py")
    (folder / "b.py").symlink_to("a.py")
    names, errors, _ = discovered([folder / "gone.py", folder / "a.py"])
    assert names == []
    assert errors == ["gone.py is a broken symbolic link", "a.py is a broken symbolic link"]


def test_what_lies_below_a_file_or_has_too_long_a_name_is_an_error(folder: Path, files: Callable[..., None]) -> None:
    files("a.py")
    _, errors, _ = discovered([folder / "a.py" / "b.py", folder / ("x" * 300)])
    assert errors == ["a.py/b.py does not exist", f"{'x' * 300} cannot be read: File name too long"]


def test_a_folder_without_python_is_worth_a_warning(folder: Path) -> None:
    (folder / "data").mkdir()
    assert discovered([folder / "data"]) == ([], [], ["no Python files or notebooks found under data"])


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes in the file system")
def test_a_pipe_is_not_waited_for(folder: Path) -> None:
    os.mkfifo(folder / "pipe.py")
    assert discovered([folder / "pipe.py"])[1] == ["pipe.py is neither a file nor a folder"]
    assert found(folder) == []


def test_a_project_begins_at_its_repository(folder: Path, files: Callable[..., None]) -> None:
    files("repo/.git/HEAD", "repo/setup.py", "repo/pkg/setup.py", "repo/pkg/a.py")
    assert root_of(folder / "repo/pkg", folder) == folder / "repo"


def test_without_a_repository_a_project_file_marks_the_root(folder: Path, files: Callable[..., None]) -> None:
    files("project/pyproject.toml", "project/src/a.py")
    assert outer_root([folder / "project/src/a.py"]) == folder / "project"


def test_without_any_mark_the_working_directory_is_the_root(folder: Path, files: Callable[..., None]) -> None:
    files("src/a.py")
    assert outer_root([folder / "src/a.py"]) == folder


def test_paths_elsewhere_have_their_common_folder_as_root(
    folder: Path, files: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    files("x/a.py", "x/y/b.py", "z/c.py")
    monkeypatch.chdir(folder / "z")
    assert outer_root([folder / "x/a.py", folder / "x/y/b.py"]) == folder / "x"


def test_a_home_directory_is_no_project(
    folder: Path, files: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    files("src/a.py")
    monkeypatch.setenv("HOME", str(folder))
    assert outer_root([folder / "src/a.py"]) == folder / "src"
