"""The hand-written pages of the site show what happens."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.sessions import NAMES, PAGES, masked, replayed

if TYPE_CHECKING:
    from pathlib import Path


def text_of(name: str) -> str:
    """Return the Markdown of a page."""
    return (PAGES / name).read_text(encoding="utf-8")


@pytest.mark.usefixtures("farm", "folder")
@pytest.mark.parametrize("name", NAMES)
def test_the_output_on_a_page_is_what_its_commands_print(name: str) -> None:
    assert replayed(text_of(name)) == text_of(name)


def test_a_session_that_prints_something_else_is_noticed(folder: Path) -> None:
    page = (
        '```python title="a.py"\nprint("took", 2, "s")\n```\n\n```console\n$ python a.py\ntook 31 s\n$ ls\nb.py\n```\n'
    )
    assert replayed(page) == page
    assert replayed(page.replace("took 31 s", "it took 31 s")) == page.replace("31 s", "2 s")
    assert (folder / "a.py").is_file()


def test_the_tutorial_ends_with_a_model_that_learns() -> None:
    before, after = map(int, re.findall(r"^test accuracy: (\d+)%$", text_of("get-started.md"), re.MULTILINE))
    assert before < 50
    assert after > 90
    assert len(re.findall(r"^train.py:.*: TDR\d+ verified: ", masked(text_of("get-started.md")), re.MULTILINE)) == 2
