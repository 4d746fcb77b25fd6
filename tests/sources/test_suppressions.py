"""Which findings a comment silences."""

from __future__ import annotations

from pathlib import Path

import pytest

from torch_doctor.rule import Finding, Level
from torch_doctor.sources.source import SourceFile
from torch_doctor.sources.suppressions import suppressions
from torch_doctor.trace import Site


def silenced(text: str, row: int, code: str = "TDR101", name: str = "missing-zero-grad") -> bool:
    file = SourceFile(Path("/a.py"), "a.py", text)
    finding = Finding(code, name, Level.ERROR, "message", Site("a.py", row, 1, row, 2))
    return suppressions(file).silences(finding, file)


@pytest.mark.parametrize(
    "comment",
    [
        "# noqa",
        "#noqa",
        "# NOQA",
        "# noqa: TDR101",
        "# noqa:TDR101",
        "# noqa: E501, TDR101",
        "# noqa: E501 TDR101",
        "# noqa: tdr101",
        "# type: ignore # noqa: TDR101",
        "# noqa: TDR101 - cleared by the caller",
        "# torch-doctor: ignore[missing-zero-grad]",
        "# torch-doctor: ignore[TDR101] cleared by the caller",
        "# torch-doctor:ignore[TDR2, TDR1]",
        "# torch-doctor: ignore[ALL]",
    ],
)
def test_a_comment_beside_the_line_silences(comment: str) -> None:
    assert silenced(f"x = 1\nloss.backward()  {comment}\n", 2)


@pytest.mark.parametrize(
    "comment",
    [
        "# noqa: TDR102",
        "# noqa: E501",
        "# noqa:",
        "# noqa: because",
        "# noqable",
        "# torch-doctor: ignore[missing-step]",
        "# torch-doctor: ignore",
        "# nothing",
    ],
)
def test_another_comment_does_not(comment: str) -> None:
    assert not silenced(f"x = 1\nloss.backward()  {comment}\n", 2)


def test_a_comment_on_another_line_does_not() -> None:
    assert not silenced("x = 1  # noqa\nloss.backward()\ny = 2  # noqa\n", 2)


def test_text_in_a_string_is_no_comment() -> None:
    assert not silenced('x = "# noqa"; loss.backward()\n', 1)
    assert not silenced('"""\n# torch-doctor: ignore-file\n"""\nloss.backward()\n', 4)


def test_the_end_of_a_statement_over_several_lines_counts() -> None:
    text = "loss.backward(\n    retain_graph=True,\n)  # noqa: TDR101\nx = 1\n"
    assert silenced(text, 1)
    assert silenced(text, 2)
    assert not silenced(text, 4)


def test_the_head_of_a_block_ends_at_its_colon() -> None:
    text = "def f(\n    x,\n):  # noqa: TDR101\n    loss.backward()\n"
    assert silenced(text, 1)
    assert not silenced(text, 4)


@pytest.mark.parametrize(
    "text",
    [
        "# torch-doctor: ignore[TDR101]\nloss.backward()\n",
        "# torch-doctor: ignore[TDR101] why\n# another comment\nloss.backward()\n",
        "# another comment\n# torch-doctor: ignore[TDR101]\nloss.backward()\n",
        "# torch-doctor: ignore[TDR101]\n@decorated\nclass Net:\n    pass\n",
        "# torch-doctor: ignore[TDR101]\n@decorated(\n    1\n)\n@again\nclass Net:\n    pass\n",
    ],
)
def test_our_comment_above_the_statement_silences(text: str) -> None:
    row = next(row for row, line in enumerate(text.split("\n"), start=1) if line.startswith(("loss", "class")))
    assert silenced(text, row)


def test_our_comment_above_silences_within_the_statement() -> None:
    assert silenced("# torch-doctor: ignore[TDR101]\nf(\n    loss.backward(),\n)\n", 3)


@pytest.mark.parametrize(
    "text",
    [
        "# torch-doctor: ignore[TDR101]\n\nloss.backward()\n",
        "# torch-doctor: ignore[TDR101]\nx = 1\nloss.backward()\n",
        "x = 1  # torch-doctor: ignore[TDR101]\n# comment\nloss.backward()\n",
        "# noqa: TDR101\n# comment\nloss.backward()\n",
    ],
)
def test_a_comment_further_above_or_of_another_kind_does_not(text: str) -> None:
    assert not silenced(text, 3)


def test_a_whole_file_can_be_silenced() -> None:
    assert silenced("# torch-doctor: ignore-file\nx = 1\nloss.backward()\n", 3)
    assert silenced("x = 1\nloss.backward()\n# torch-doctor: ignore-file[TDR1] why\n", 2)
    assert not silenced("# torch-doctor: ignore-file[TDR2]\nloss.backward()\n", 2)


def test_text_that_cannot_be_tokenized_is_searched_by_sight() -> None:
    assert silenced("loss.backward()  # noqa\nx = (\n", 1)


@pytest.mark.parametrize(("comment", "said"), [("ignore", "names no rule"), ("ingore[TDR101]", "unknown directive")])
def test_a_comment_that_means_nothing_is_reported(comment: str, said: str) -> None:
    file = SourceFile(Path("/a.py"), "a.py", f"x = 1\ny = 2  # torch-doctor: {comment}\n")
    ((row, why),) = suppressions(file).misspelt
    assert row == 2
    assert said in why
