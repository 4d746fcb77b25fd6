"""The fixtures of TDX101, and the examples on its page."""

from pathlib import Path

import pytest
from torch_doctor.testing import wrong_in, wrong_on_page

from torch_doctor_example import rules

FIXTURES = sorted((Path(__file__).parents[1] / "fixtures" / "TDX101").iterdir())


@pytest.mark.parametrize("fixture", FIXTURES, ids=lambda path: path.name)
def test_what_is_marked_is_reported_and_nothing_else(fixture: Path) -> None:
    assert wrong_in(fixture, rules()) == []


def test_the_example_on_the_page_fires_and_what_to_use_instead_does_not() -> None:
    assert wrong_on_page("TDX101", rules()) == []
