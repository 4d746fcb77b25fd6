"""Newer grammar is told from wrong grammar, and nothing that is asked for ends the process."""

from __future__ import annotations

import subprocess
import sys
import threading
import time

import pytest

from torch_doctor.sources.newer_grammar import LONGEST_SOURCE, valid_for_a_newer_python

NEW = [
    "type Batch = tuple[int, int]\n",
    "def first[T](items: list[T]) -> T:\n    return items[0]\n",
    "print(f'{losses['train']:.3f}')\n",
    "try:\n    train()\nexcept* ValueError:\n    pass\n",
]


@pytest.mark.parametrize("source", NEW)
def test_grammar_that_came_with_some_version_is_valid_for_a_newer_python(source: str) -> None:
    assert valid_for_a_newer_python(source)
    assert valid_for_a_newer_python(f"import torch\n\n\n{source}\nx = [\n    1,\n]\n")


@pytest.mark.parametrize("source", ["print 'x'\n", "def f(:\n", "x = (\n", "exec code in scope\n", "raise E, 'x'\n"])
def test_what_is_wrong_in_every_python_is_not(source: str) -> None:
    assert not valid_for_a_newer_python(source)


def test_a_bracket_in_a_comment_spoils_nothing_of_what_follows() -> None:
    assert valid_for_a_newer_python("# :(\n" + "import torch\nx = 1\n" * 500 + NEW[1])


@pytest.mark.parametrize(
    "source",
    [
        "x = " + "(" * 10_000 + "1" + ")" * 10_000,
        "x = " + "[" * 40 + "\n" + "]" * 40,
        "x = 1" + " + 1" * 10_000,
        "x = " + "not " * 5_000 + "1",
        "if x:\n    pass\n" + "elif x:\n    pass\n" * 20_000,
        "y = ':('\n" + "x = 1\n" * 2_000,
        "x = 1\n" * LONGEST_SOURCE,
    ],
    ids=["parentheses", "brackets", "operators", "prefixes", "branches", "never closed", "long"],
)
def test_what_nobody_writes_by_hand_is_not_asked_about(source: str) -> None:
    begin = time.process_time()
    assert not valid_for_a_newer_python(source)
    assert time.process_time() - begin < 5


ASKED = """
from torch_doctor.sources.newer_grammar import valid_for_a_newer_python as valid
assert valid("if x:pass\\n" + "elif x:pass\\n" * 16_000)
assert valid("x = " + "2**" * 950 + "1\\n")
assert valid("x = " + "lambda:" * 400 + "1\\n")
assert valid("x = " + "-" * 2_900 + "1\\n")
"""


def test_as_much_as_is_asked_about_does_not_end_the_process() -> None:
    subprocess.run([sys.executable, "-c", ASKED], check=True, timeout=60)


def test_other_threads_get_their_usual_stack() -> None:
    before = threading.stack_size()
    valid_for_a_newer_python("x = 1\n")
    assert threading.stack_size() == before
