"""`torch-doctor server`: that it starts, and what it says where it cannot."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

from torch_doctor.cli import server

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest

    from tests.conftest import Outcome


def test_what_is_not_installed_is_named_in_one_line(
    run: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "find_spec", lambda _: None)
    outcome = run("server")
    assert (outcome.status, outcome.out) == (2, "")
    needed = "pygls and lsprotocol: run `pip install 'torch-doctor[server]'`"
    assert outcome.err == f"error: the language server needs {needed}\n"


def test_a_server_ends_with_its_editor() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "torch_doctor", "server", "--stdio"],
        input=b"",
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stdout) == (1, b"")
    assert b"Traceback" not in done.stderr
