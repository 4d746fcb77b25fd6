"""Folders of runs that were killed: the next run removes them, with all that belongs to them."""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.probe.test_launch import gone
from torch_doctor.probe.processes import TOKEN
from torch_doctor.probe.scratch import HELD, MEMORY, SHARED, Scratch, forget_shared, mark, size, sweep

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere memory and processes are not to be seen")

HOLDS = """
import sys, time
from torch_doctor.probe.scratch import Scratch, mark
scratch = Scratch()
mark(scratch.path, sys.argv[1])
print(scratch.path, flush=True)
time.sleep(60)
"""


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for temporary files, in which nobody has looked yet."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    sweep.cache_clear()
    return tmp_path


@pytest.fixture
def token() -> str:
    """What the processes of a run inherit."""
    return secrets.token_hex(16)


@pytest.fixture
def other(temporary: Path, token: str) -> Iterator[subprocess.Popen[str]]:  # noqa: ARG001 - where it holds it
    """Another torch-doctor, which holds a folder."""
    with subprocess.Popen([sys.executable, "-c", HOLDS, token], stdout=subprocess.PIPE, text=True) as process:
        yield process
        process.kill()


def folder_of(process: subprocess.Popen[str]) -> Path:
    assert process.stdout is not None
    return Path(process.stdout.readline().strip())


def test_what_somebody_holds_stays(other: subprocess.Popen[str]) -> None:
    held = folder_of(other)
    Scratch().remove()
    assert (held / HELD).exists()


def test_what_somebody_left_who_was_killed_goes_with_its_processes(other: subprocess.Popen[str], token: str) -> None:
    left = folder_of(other)
    name = f"torch-doctor-test-{token}"
    (left / SHARED).write_text(f"/{name}\n", encoding="ascii")
    (MEMORY / name).write_bytes(b"x")
    (left / "folder").mkdir(mode=0)
    command = ["/bin/sh", "-c", "echo; exec sleep 60"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env={TOKEN: token}, start_new_session=True) as orphan:
        assert orphan.stdout is not None
        orphan.stdout.readline()  # its environment can be read from here on
        other.kill()
        other.wait()
        Scratch().remove()
        assert orphan.wait(10) == -signal.SIGKILL
    assert gone(orphan.pid)
    assert not left.exists()
    assert not (MEMORY / name).exists()


def test_folders_of_others_stay(temporary: Path) -> None:
    (temporary / "torch-doctor-1000").mkdir()
    (temporary / "torch-doctor-old").write_text("", encoding="ascii")
    (temporary / "torch-doctor-link").symlink_to(temporary / "torch-doctor-1000")
    (temporary / "elsewhere").mkdir()
    (temporary / "elsewhere" / HELD).write_text("", encoding="ascii")
    Scratch().remove()
    assert len(list(temporary.iterdir())) == 4


def test_memory_of_torch_goes_with_the_process_that_made_it(temporary: Path) -> None:
    names = [f"torch_{os.getpid()}_test_1", "torch_0_test_1", f"mine_{os.getpid()}"]
    try:
        for name in names:
            (MEMORY / name).write_bytes(b"x")
        forget_shared(temporary, frozenset({os.getpid()}))
        assert [name for name in names if (MEMORY / name).exists()] == names[1:]
    finally:
        for name in names:
            (MEMORY / name).unlink(missing_ok=True)


def test_the_size_of_a_folder_is_what_it_takes(temporary: Path) -> None:
    (temporary / "in").mkdir()
    (temporary / "in" / "file").write_bytes(bytes(1 << 20))
    (temporary / "in" / "link").symlink_to(sys.executable)
    assert 1 << 20 <= size(temporary) < 2 << 20


def test_a_token_that_is_none_ends_nobody(other: subprocess.Popen[str]) -> None:
    left = folder_of(other)
    mark(left, "")
    other.kill()
    other.wait()
    Scratch().remove()
    assert not left.exists()
