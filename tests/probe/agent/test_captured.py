"""Classes of the standard library that hold functions which stand-ins replace."""

from __future__ import annotations

import os
import pathlib
from typing import TYPE_CHECKING, Any

from torch_doctor.probe.agent.guard import captured

if TYPE_CHECKING:
    import pytest


class Accessor:
    """As that of pathlib in Python 3.10."""

    mkfifo: Any = os.mkfifo


def test_a_class_that_holds_a_function_gets_what_replaces_it_and_no_method(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Accessor, "__module__", "pathlib")
    monkeypatch.setattr(pathlib, "Accessor", Accessor, raising=False)
    made: list[str] = []

    def mkfifo(path: str) -> None:
        made.append(path)

    with captured.followed():
        monkeypatch.setattr(os, "mkfifo", mkfifo)
    Accessor().mkfifo("pipe")
    assert made == ["pipe"]
