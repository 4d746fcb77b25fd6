"""Probes that fork from one process with torch in it: importing torch for each of hundreds would take minutes."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import torch_doctor
from torch_doctor.probe import launch

if TYPE_CHECKING:
    from collections.abc import Iterator

VARIABLE = "TORCH_DOCTOR_FARM"
HERE = Path(__file__).parent
AGENT = Path(torch_doctor.__file__).parent / "probe/agent"
PREPARED = launch._prepared  # noqa: SLF001 - put back by `use`


@contextlib.contextmanager
def farm() -> Iterator[str]:
    """A server that forks an agent for whoever connects to the socket that is given."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment["OMP_NUM_THREADS"] = "1"  # the probes are small and many
    with tempfile.TemporaryDirectory() as folder:
        address = f"{folder}/socket"
        command = [sys.executable, str(HERE / "server.py"), address, str(AGENT)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as server:
            try:
                assert server.stdout is not None
                assert server.stdout.readline() == b"ready\n"
                yield address
            finally:
                server.kill()


def use(address: str) -> None:
    """Has every probe of this process fork from the farm at an address; an empty one: start an interpreter again."""
    os.environ[VARIABLE] = address
    launch.AGENT = HERE / "client.py" if address else AGENT
    launch._prepared = _nothing_prepared if address else PREPARED  # noqa: SLF001 - Popen then need not fork this process


def ran(address: str, script: Path) -> None:
    """Has the farm at an address run a script by itself, as `python SCRIPT` does, only that torch is there already.

    Raises:
        CalledProcessError: it fails.
    """
    command = [sys.executable, str(HERE / "client.py"), str(script)]
    subprocess.run(command, env=os.environ | {VARIABLE: address}, check=True, timeout=120)


def _nothing_prepared() -> None:
    """What the client does before it becomes the interpreter: the farm ends what it runs."""
