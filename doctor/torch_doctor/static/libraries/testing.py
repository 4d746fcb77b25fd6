"""pytest and unittest: what a test says that it raises."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.budget import RAISING
from torch_doctor.static.libraries.library import Library
from torch_doctor.static.library import library
from torch_doctor.static.values import Call, Plain, Raising, Value

if TYPE_CHECKING:
    from torch_doctor.static.run import Run

LIBRARY = Library(neutral=("pytest",))

_CASES = (
    "unittest.TestCase",
    "unittest.IsolatedAsyncioTestCase",
    "unittest.case.TestCase",
)


@library("pytest.raises", *(f"{case}.assertRaises" for case in _CASES))
def _raises(run: Run, _: str, call: Call) -> Value:
    return _expecting(run, call, called_at=1)


@library(*(f"{case}.assertRaisesRegex" for case in _CASES))
def _raises_with_message(run: Run, _: str, call: Call) -> Value:
    return _expecting(run, call, called_at=2)


def _expecting(run: Run, call: Call, called_at: int) -> Value:
    """Return the context manager, or call at once what is given to be called."""
    if len(call.args) <= called_at:
        return Raising()
    with run.aside(RAISING):
        run.call(call.args[called_at], Call(call.args[called_at + 1 :], call.keywords, call.node))
    return Plain()
