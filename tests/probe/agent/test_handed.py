"""Paths that are given to what is made up."""

from __future__ import annotations

import ast
import inspect
import os
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from torch_doctor.probe.agent import handed

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True)
def nothing_is_handed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(handed, "_paths", set())
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    "value",
    [
        "runs/first",
        Path("runs/first"),
        "runs/first/events",
        "runs",
        {"out": {"folder": "runs/first"}},
        ["a", ("runs/first/",)],
        SimpleNamespace(settings=SimpleNamespace(out="runs/first")),
    ],
    ids=str,
)
def test_a_folder_may_be_made_by_what_is_given_it_or_a_folder_around_or_in_it(value: object) -> None:
    handed.hand([value])
    assert handed.may_be_made("runs/first")
    assert not handed.may_be_made("weights")


@pytest.mark.parametrize(
    "value", [".", "..", os.sep, "", "runs/second", "run", 3, None, "runs/first\0", "x" * 1000], ids=repr
)
def test_what_is_not_about_the_folder_does_not_count(value: object) -> None:
    handed.hand([value])
    assert not handed.may_be_made("runs/first")


def test_anything_may_make_any_folder() -> None:
    handed.hand_anything()
    assert handed.may_be_made("runs/first")


def test_the_names_and_words_of_a_statement_count() -> None:
    folder = "runs"
    statement = ast.parse("system(f'wget -P weights {folder}')").body[0]
    frame = inspect.currentframe()
    assert frame is not None
    handed.hand_of(frame, ast.walk(statement))
    assert folder
    assert [each for each in ("runs/first", "weights", "wgetter") if handed.may_be_made(each)] == [
        "runs/first",
        "weights",
    ]


def test_a_value_that_holds_itself_ends() -> None:
    def numbers() -> Iterator[int]:
        yield 1

    endless: list[object] = ["runs/first", numbers]
    endless.append(endless)
    handed.hand([endless])
    assert handed.may_be_made("runs/first")
