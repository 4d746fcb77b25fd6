"""The files of a project, each read once."""

from __future__ import annotations

import ast
import contextlib
import json
import weakref
from typing import TYPE_CHECKING

import pytest

from torch_doctor.sources import project as projects
from torch_doctor.sources.ignores import Ignores
from torch_doctor.sources.project import Project
from torch_doctor.trace import Versions

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def project(folder: Path) -> Project:
    return Project(folder, Ignores(frozenset({folder})))


def test_a_file_is_read_and_parsed_once(
    project: Project, write: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write("pkg/a.py", "x = 1\n")
    file, tree = project.read(path), project.tree(path)
    assert file is not None
    assert (file.display, file.text) == ("pkg/a.py", "x = 1\n")
    monkeypatch.setattr(projects, "parse", None)
    path.unlink()
    assert project.read(path) is file
    assert project.tree(path) is tree
    assert project.seconds["parse"] > 0


def test_a_file_that_cannot_be_read_keeps_nothing_of_those_that_ask_for_it(project: Project, folder: Path) -> None:
    class Held:
        pass

    def ask() -> weakref.ref[Held]:
        held = Held()
        with contextlib.suppress(FileNotFoundError):
            project.raw(folder / "missing.py")
        assert project.read(folder / "missing.py") is None
        return weakref.ref(held)

    assert [ask()(), ask()()] == [None, None]


def test_what_is_not_there_is_none(project: Project, folder: Path) -> None:
    assert project.read(folder / "nope.py") is None
    assert project.tree(folder / "nope.py") is None
    assert project.problems(folder / "nope.py") == []
    assert project.mentions(["nope"], project.python_files()) == []


def test_old_trees_are_forgotten_and_parsed_again(
    project: Project, write: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(projects, "KEPT_TREES", 20)
    project = Project(project.root, project.ignores)
    first, second = write("a.py", "a = 1  # padding"), write("b.py", "b = 1  # padding")
    tree = project.tree(first)
    project.tree(second)
    again = project.tree(first)
    assert again is not None
    assert again is not tree
    assert ast.dump(again) == ast.dump(tree) if tree else False


def test_wrong_source_has_a_problem_and_no_tree(project: Project, write: Callable[..., Path]) -> None:
    path = write("a.py", "import torch\nif x\n    pass\n")
    assert project.tree(path) is None
    assert project.tree(path) is None
    (problem,) = project.problems(path)
    assert (problem.site.path, problem.site.row, problem.reason) == ("a.py", 2, "expected ':'")


def test_bytes_that_are_no_text_are_shown_as_far_as_they_can_be(project: Project, write: Callable[..., Path]) -> None:
    path = write("a.py", b"import torch\nx = '\xff'\n")
    file = project.read(path)
    assert file is not None
    assert file.lines[1].startswith("x = '")
    assert [problem.site.row for problem in project.problems(path)] == [2]
    assert project.tree(path) is None


def test_a_broken_notebook_has_a_problem_and_is_shown_as_json(project: Project, write: Callable[..., Path]) -> None:
    path = write("a.ipynb", b'{\n"cells": [torch')
    assert project.tree(path) is None
    (problem,) = project.problems(path)
    assert (problem.site.row, problem.site.column, problem.site.cell, problem.wrong) == (2, 11, None, True)
    file = project.read(path)
    assert file is not None
    assert file.text == ""
    assert file.shown[problem.site.row - 1] == '"cells": [torch'
    assert problem.site.row in file.row_range(problem.site)


def test_a_notebook_without_cells_is_valid(project: Project, write: Callable[..., Path]) -> None:
    path = write("a.ipynb", [])
    assert isinstance(project.tree(path), ast.Module)


def test_what_nobody_wrote_by_hand_is_not_read(project: Project, write: Callable[..., Path]) -> None:
    path = write("a.py", "x = [\n" + "1,\n" * 1_000_000 + "]\n")
    assert project.too_large(path)
    assert project.read(path) is None
    assert project.problems(path) == []


def test_of_a_file_that_is_too_large_only_so_much_is_read(
    project: Project, write: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(projects, "LARGEST_PYTHON", 20)
    path = write("a.py", "import torch\n" * 1000)
    assert len(project.raw(path)) == 21
    assert project.too_large(path)
    assert not project.too_large(write("b.py", "import torch\n"))


def test_an_overlay_stands_for_the_file(folder: Path, write: Callable[..., Path]) -> None:
    path = write("a.py", "on_disk = 1")
    project = Project(folder, Ignores(frozenset({folder})), {path: b"in_editor = 1"})
    file = project.read(path)
    assert file is not None
    assert file.text == "in_editor = 1"


def test_mentions_finds_whole_identifiers_in_files_that_are_not_ignored(
    project: Project, write: Callable[..., Path]
) -> None:
    wanted = {
        write("a.py", "train_one(x)"),
        write("b/c.py", "from a import train_one"),
        write("n.ipynb", ["train_one()"]),
    }
    write("d.py", "train_one_epoch()")
    write("e.py", "pretrain_one()")
    write("out/f.py", "train_one()")
    write(".gitignore", "out/")
    assert set(project.mentions(["train_one"], project.python_files())) == wanted


def test_the_list_of_files_ends_somewhere(
    project: Project, write: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(projects, "MOST_FILES", 3)
    for number in range(5):
        write(f"{number}.py", "")
    assert len(project.python_files()) == 3


def test_a_folder_of_images_is_not_walked_to_its_end(
    project: Project, write: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(projects, "MOST_ENTRIES", 5)
    write("a.py", "")
    for number in range(6):
        write(f"images/{number}.png", "")
    write("zoo/b.py", "")
    assert [path.name for path in project.python_files()] == ["a.py"]


def test_findings_concern_files_within_the_project_that_are_not_left_out(
    project: Project, folder: Path, write: Callable[..., Path]
) -> None:
    write(".gitignore", "out/")
    assert project.visible(folder / "pkg/a.py")
    assert not project.visible(folder / "out/a.py")
    assert not project.visible(folder / "venv/lib/a.py")
    assert not project.visible(folder.parent / "a.py")


def test_what_the_user_says_of_torch_overrides_the_pins(folder: Path) -> None:
    (folder / "requirements.txt").write_text("torch==1.13.1\n", encoding="utf-8")
    ignores = Ignores(frozenset({folder}))
    assert Project(folder, ignores).torch(folder) == ((1, 13), (1, 13))
    told = Versions((2, 6), (2, 7))
    assert Project(folder, ignores, torch=told).torch(folder) == told


def test_the_prose_of_a_notebook_mentions_nothing(project: Project, write: Callable[..., Path]) -> None:
    cells = [
        {"cell_type": "markdown", "metadata": {}, "source": "transformers are trained on a gpu"},
        {"cell_type": "code", "metadata": {}, "source": "train()", "outputs": [], "execution_count": None},
    ]
    notebook = write("lesson.ipynb", json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells}))
    assert project.mentions(["gpu"], [notebook]) == []
    assert project.mentions(["train"], [notebook]) == [notebook]
