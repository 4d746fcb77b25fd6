"""The process that looks at files: what it costs when it ends or hangs."""

from __future__ import annotations

import os
import threading
import time
from typing import TYPE_CHECKING

import pytest

from torch_doctor.rule import all_rules
from torch_doctor.scan import Options
from torch_doctor.server.looking import Asked, Looked, SettingsError
from torch_doctor.server.worker import GRACE, Worker

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
    if raw == b"work":
        while True:
            sum(range(100))
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


def asked(folder: Path, raw: bytes, *, mends: bool = False) -> Asked:
    return Asked(folder / "train.py", raw, folder, mends)


def answer(worker: Worker, question: Asked) -> Looked:
    looked = worker.look(question)
    assert looked
    return looked


def abandoned(worker: Worker, question: Asked) -> float:
    """Ask, and abandon that in a second; the seconds that it took from there on."""
    timer = threading.Timer(1, worker.abandon, [question])
    timer.start()
    begun = time.monotonic()
    assert worker.look(question) is None
    timer.join()
    return time.monotonic() - begun - 1


def test_what_ends_the_process_is_said_and_the_next_file_is_looked_at(worker: Worker, folder: Path) -> None:
    (error,) = answer(worker, asked(folder, b"end")).errors
    assert error.endswith("crashed the analysis process (exit status 3); please report it")
    found = answer(worker, asked(folder, LOADED)).findings
    assert answer(worker, asked(folder, b"end")).errors == (error,)
    assert ("TDR603", "train.py") in {(finding.code, finding.site.path) for finding in found}


def test_what_hangs_is_ended(folder: Path) -> None:
    worker = Worker(settings, patience=0.1)
    (error,) = answer(worker, asked(folder, b"hang")).errors
    worker.close()
    assert "takes more than 0.1 seconds" in error


def test_what_is_abandoned_ends_at_once_and_its_process_goes_on(worker: Worker, folder: Path) -> None:
    assert worker.look(asked(folder, LOADED))
    process = worker._process  # noqa: SLF001 - which is not ended
    assert abandoned(worker, asked(folder, b"work")) < GRACE
    assert answer(worker, asked(folder, LOADED)).findings
    assert worker._process is process  # noqa: SLF001 - as above


def test_what_does_not_hear_that_it_is_abandoned_is_ended(worker: Worker, folder: Path) -> None:
    assert worker.look(asked(folder, LOADED))
    assert abandoned(worker, asked(folder, b"hang")) < 2 * GRACE
    assert answer(worker, asked(folder, LOADED)).findings


def test_findings_come_before_what_mends_them(worker: Worker, folder: Path) -> None:
    heard: list[Looked] = []
    looked = worker.look(asked(folder, LOADED, mends=True), heard.append)
    assert looked
    (first,) = heard
    assert (first.settled, looked.settled) == (False, True)
    assert [each.code for each in first.findings] == [each.code for each in looked.findings] != []
    assert (any(each.fix for each in first.findings), any(each.fix for each in looked.findings)) == (False, True)
    assert [len(each) for each in looked.ignores] == [2] * len(looked.findings)


def test_an_error_is_one_line_and_one_of_the_configuration_is_told_apart(worker: Worker, folder: Path) -> None:
    looked = answer(worker, asked(folder, b"raise"))
    assert looked.errors == ("internal error while scanning train.py: ZeroDivisionError: no",)
    assert answer(worker, asked(folder, b"refuse")).settings == "unknown key"
    assert answer(worker, asked(folder, LOADED)).findings


def test_what_is_printed_does_not_come_between(worker: Worker, folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert answer(worker, asked(folder, LOADED)).findings
    out, err = capfd.readouterr()
    assert (out, "Content-Length: 3" in err) == ("", True)
