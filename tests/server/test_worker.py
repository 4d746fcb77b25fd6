"""The process that looks at files: what it costs when it ends or hangs."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import pytest

from torch_doctor.rule import all_rules
from torch_doctor.scan import Options
from torch_doctor.server.looking import Asked, SettingsError
from torch_doctor.server.worker import Worker

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LOADED = b"import sys\n\nimport torch\n\nmodel = torch.load(sys.argv[1], weights_only=False)\n"


def settings(path: Path, raw: bytes) -> Options:
    """Does to the process what a file says."""
    if raw == b"end":
        os._exit(3)
    if raw == b"hang":
        time.sleep(60)
    if raw == b"raise":
        message = "no"
        raise ZeroDivisionError(message)
    if raw == b"refuse":
        message = "unknown key"
        raise SettingsError(message)
    print("Content-Length: 3", flush=True)  # noqa: T201 - as what an analysis imports may print
    return Options(paths=(path,), rules=all_rules(), overlay={path: raw}, jobs=1)


@pytest.fixture
def worker() -> Iterator[Worker]:
    made = Worker(settings, patience=10)
    yield made
    made.close()


def asked(folder: Path, raw: bytes) -> Asked:
    return Asked(folder / "train.py", raw, folder)


def test_what_ends_the_process_is_said_and_the_next_file_is_looked_at(worker: Worker, folder: Path) -> None:
    (error,) = worker.look(asked(folder, b"end")).errors
    assert error.endswith("crashed the analysis process (exit status 3); please report it")
    found = worker.look(asked(folder, LOADED)).findings
    assert worker.look(asked(folder, b"end")).errors == (error,)
    assert ("TDR603", "train.py") in {(finding.code, finding.site.path) for finding in found}


def test_what_hangs_is_ended(folder: Path) -> None:
    worker = Worker(settings, patience=0.1)
    (error,) = worker.look(asked(folder, b"hang")).errors
    worker.close()
    assert "takes more than 0.1 seconds" in error


def test_an_error_is_one_line_and_one_of_the_configuration_is_told_apart(worker: Worker, folder: Path) -> None:
    looked = worker.look(asked(folder, b"raise"))
    assert looked.errors == ("internal error while scanning train.py: ZeroDivisionError: no",)
    assert worker.look(asked(folder, b"refuse")).settings == "unknown key"
    assert worker.look(asked(folder, LOADED)).findings


def test_what_is_printed_does_not_come_between(worker: Worker, folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert worker.look(asked(folder, LOADED)).findings
    out, err = capfd.readouterr()
    assert (out, "Content-Length: 3" in err) == ("", True)
