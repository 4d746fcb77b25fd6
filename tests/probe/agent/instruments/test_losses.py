"""Instruments that read the number of a loss, which has a graph."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.usefixtures("farm")
FIXTURES = Path(__file__).parents[4] / "fixtures"
STRICT = "import warnings\nwarnings.simplefilter('error')\n"


@pytest.mark.parametrize("name", ["TDR217/bad_index_of_a_vocabulary.py", "TDR218/bad_recurrent.py"])
def test_the_script_gets_no_warning_of_it(run: Any, write: Callable[..., Any], name: str) -> None:
    write("train.py", STRICT + (FIXTURES / name).read_text(encoding="utf-8"))
    outcome = run("scan", "train.py", "--probe", "--isolated")
    assert "confirmed" in outcome.out
    assert "instrument failed" not in outcome.err
    assert "fails" not in outcome.err
