"""What scans say of fixtures, kept for the session: where a probe has scanned one, no other test need do so again."""

from __future__ import annotations

import os
import pickle
from pathlib import Path
from typing import TYPE_CHECKING

from tests.marks import name_of
from torch_doctor.scan import Report

if TYPE_CHECKING:
    import pytest

FOLDER = "TORCH_DOCTOR_REPORTS"


def keep_in(folder: Path) -> None:
    """Says where reports are kept: all processes of the session have to say the same."""
    folder.mkdir(exist_ok=True)
    os.environ[FOLDER] = str(folder)


def keep(fixture: Path, report: Report) -> None:
    """Keeps the findings in a fixture, before a run has said anything of them, for all processes of the session."""
    if FOLDER not in os.environ:
        return
    path = _path(fixture)
    being_written = path.with_suffix(f".{os.getpid()}")
    static = Report(findings=report.findings, errors=report.errors, sources=report.sources)
    being_written.write_bytes(pickle.dumps(static))
    being_written.rename(path)


def kept(fixture: Path) -> Report | None:
    """The report on a fixture that somebody scanned in this session."""
    path = _path(fixture)
    report: Report | None = pickle.loads(path.read_bytes()) if path.exists() else None  # noqa: S301 - our own
    return report


def _path(fixture: Path) -> Path:
    return Path(os.environ[FOLDER], name_of(fixture).replace("/", "-"))


def in_order(items: list[pytest.Item], first: str, last: str, workers: int) -> list[pytest.Item]:
    """The tests in such an order that workers, who begin with equal parts of it, have equal shares of two long files.

    All of them begin with tests of the file `first`, and end with those of `last`, which find reports of the former.
    """
    begin = [item for item in items if item.path.match(first)]
    end = [item for item in items if item.path.match(last) and item not in begin]
    chosen = {*begin, *end}
    middle = [item for item in items if item not in chosen]
    size = -(-len(middle) // workers)
    return [
        item
        for worker in range(workers)
        for part in (begin[worker::workers], middle[worker * size : (worker + 1) * size], end[worker::workers])
        for item in part
    ]
