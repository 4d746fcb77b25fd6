"""The command line as a process of its own: pipes, encodings, terminals."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

COMMAND = [sys.executable, "-m", "torch_doctor"]
BROKEN = "import torch\nprint 'epoch 1 é loss'\n"


def test_the_module_is_the_command(folder: Path, write: Callable[..., Path]) -> None:
    write("train.py", BROKEN)
    done = subprocess.run([*COMMAND, "scan"], cwd=folder, capture_output=True, check=False)
    assert done.returncode == 1
    assert done.stdout.startswith(b"error[TDR000]")


IMPORTED = """
import sys
from torch_doctor.cli import run
run(sys.argv[1:])
print(*(name for name in sys.modules if name.startswith("torch_doctor")), file=sys.stderr)
"""


@pytest.mark.parametrize(("argument", "needed"), [("--help", set()), ("version", {"torch_doctor.cli.version"})])
def test_what_only_tells_of_the_command_imports_nothing_of_the_machine(argument: str, needed: set[str]) -> None:
    done = subprocess.run([sys.executable, "-c", IMPORTED, argument], capture_output=True, text=True, check=True)
    assert {"torch_doctor", "torch_doctor.cli"} | needed == set(done.stderr.split())


def test_output_is_utf8_whatever_the_locale_says(folder: Path, write: Callable[..., Path]) -> None:
    write("träin.py", BROKEN)
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "LC_ALL": "C"}
    done = subprocess.run([*COMMAND, "scan"], cwd=folder, capture_output=True, check=False, env=environment)
    assert done.returncode == 1
    assert "träin.py:2:1" in done.stdout.decode()
    assert "é" in done.stdout.decode()
    assert b"Traceback" not in done.stderr


def test_a_reader_that_goes_away_is_no_reason_to_complain(folder: Path, write: Callable[..., Path]) -> None:
    for number in range(200):
        write(f"{number}.py", BROKEN)
    with subprocess.Popen(
        [*COMMAND, "scan", "-q"], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""


STARTING = """
import os, signal, sys
class Impatient:
    def find_spec(self, name, path=None, target=None):
        if name == "click":
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Impatient())
from torch_doctor.__main__ import main
main()
"""


@pytest.mark.usefixtures("interruptible")
def test_interruption_of_its_start_is_as_quiet(folder: Path) -> None:
    done = subprocess.run([sys.executable, "-c", STARTING], cwd=folder, capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"")


@pytest.mark.parametrize("arguments", [["--help"], ["version"], ["rules"], ["scan", "."]])
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no full device")  # noqa: PTH110
def test_a_full_disk_is_said_in_one_line(arguments: list[str], folder: Path, write: Callable[..., Path]) -> None:
    write("train.py", BROKEN)
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run([*COMMAND, *arguments], cwd=folder, stdout=full, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 2
    assert done.stderr.decode().splitlines()[0].startswith("error: ")
    assert b"No space left on device" in done.stderr
    assert b"report it" not in done.stderr


READING = """
import sys
from torch_doctor.cli import run
print("ready", flush=True)
sys.exit(run(["scan", "-"]))
"""


@pytest.mark.usefixtures("interruptible")
def test_interruption_ends_quietly_with_its_own_status(folder: Path) -> None:
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", READING]
    with subprocess.Popen(command, cwd=folder, stdin=pipe, stdout=pipe, stderr=pipe) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        time.sleep(0.5)  # until it reads
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err.strip()) == (130, b"", b"")
