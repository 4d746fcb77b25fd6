"""Fingerprints name a finding by what its line says and where it stands, not by its number."""

from __future__ import annotations

import re

import pytest

from tests.ecosystem.fingerprints import enclosing, fingerprint

TRAIN = """
class Trainer:
    def train(self, loader):
        for x, y in loader:
            loss = self.criterion(self.model(x), y)
            loss.backward()
            self.optimizer.step()
""".splitlines()
BACKWARD = TRAIN.index("            loss.backward()") + 1
TOLD = ("owner/name", "train.py", "TDR101")


def named(rows: list[str], row: int, columns: tuple[int, int] = (13, 28)) -> str:
    return fingerprint(rows, row, columns, *TOLD)


def test_it_holds_nothing_of_the_source() -> None:
    assert re.fullmatch(r"[0-9a-f]{12}-1", named(TRAIN, BACKWARD))


def test_it_stays_when_lines_move() -> None:
    moved = ["import torch", "", "def helper():", "    loss.backward()", "", *TRAIN]
    assert named(moved, BACKWARD + 5) == named(TRAIN, BACKWARD)


def test_it_stays_when_the_code_is_formatted_anew_or_put_under_a_condition() -> None:
    indented = [*TRAIN[: BACKWARD - 1], "            if  self.training:", "                loss . backward( )"]
    assert named(indented, BACKWARD + 1, (17, 35)) == named(TRAIN, BACKWARD)


@pytest.mark.parametrize("told", [("other/name", *TOLD[1:]), (TOLD[0], "a.py", TOLD[2]), (*TOLD[:2], "TDR102")])
def test_another_repository_file_or_code_has_another(told: tuple[str, str, str]) -> None:
    assert fingerprint(TRAIN, BACKWARD, (13, 28), *told) != named(TRAIN, BACKWARD)


def test_the_same_line_in_another_function_has_another() -> None:
    renamed = [line.replace("def train", "def fit") for line in TRAIN]
    assert named(renamed, BACKWARD) != named(TRAIN, BACKWARD)


def test_the_same_line_twice_in_a_function_is_counted() -> None:
    rows = [*TRAIN, TRAIN[BACKWARD - 1]]
    first, second = named(rows, BACKWARD), named(rows, len(rows))
    assert (first, second) == (named(TRAIN, BACKWARD), first.replace("-1", "-2"))


def test_two_places_in_a_line_have_two() -> None:
    rows = ["loss = f.sigmoid(a) + f.sigmoid(b)"]
    assert named(rows, 1, (8, 20)) != named(rows, 1, (23, 35))


def test_what_encloses_a_row_is_told_by_indentation() -> None:
    assert enclosing(TRAIN, BACKWARD) == "Trainer.train"
    assert enclosing(["def f():", "    x = 1", "", "# note", "\tprint 'of Python 2'"], 5) == "f"
    assert enclosing(TRAIN, len(TRAIN) + 1) == ""
