from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.trace import Unreadable
from torch_doctor_rules.operation.unreadable_source import UnreadableSource

if TYPE_CHECKING:
    from .conftest import Script


def test_the_parsers_reason_is_told(script: Script) -> None:
    script.add(Unreadable, "def f(:", reason="invalid syntax")
    [finding] = script.findings(UnreadableSource)
    assert finding.message == "the file is not valid Python and was not checked: invalid syntax"


def test_a_cell_is_called_a_cell(script: Script) -> None:
    event = script.add(Unreadable, "def f(:", reason="invalid syntax")
    script.trace.replace(event, site=event.site._replace(cell=3))
    [finding] = script.findings(UnreadableSource)
    assert finding.message.startswith("the cell is not valid Python")


def test_long_reasons_are_cut(script: Script) -> None:
    script.add(Unreadable, "def f(:", reason="unexpected character " * 20)
    assert script.found(UnreadableSource) == ["def f(:"]


def test_readable_files_are_silent(script: Script) -> None:
    script.model()
    assert script.found(UnreadableSource) == []


def test_a_notebook_that_cannot_be_read_is_called_one(script: Script) -> None:
    event = script.add(Unreadable, "def f(:", reason="not JSON: expecting value")
    script.trace.replace(event, site=event.site._replace(path="train.ipynb"))
    [finding] = script.findings(UnreadableSource)
    assert finding.message == "the notebook cannot be read and was not checked: not JSON: expecting value"
    assert finding.help == "fix the file, or exclude it"
