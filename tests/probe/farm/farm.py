"""Probes that fork from one process with torch in it: importing torch for each of hundreds would take minutes."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch_doctor
from torch_doctor.probe import launch, server

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

VARIABLE = "TORCH_DOCTOR_FARM"
HERE = Path(__file__).parent
AGENT = Path(torch_doctor.__file__).parent / "probe/agent"
STARTED = launch._started  # noqa: SLF001 - replaced


def forked(python: Path, plan: Mapping[str, Any], says: int, environment: dict[str, str]) -> tuple[server.Forked, int]:
    """The agent in a fork of the farm, where the product starts an interpreter, and the pipe with what it prints."""
    python.stat()  # raises what starting it does where there is no such interpreter
    hears, out = os.pipe()
    try:
        request = (launch._arguments(plan, says), environment, plan["cwd"])  # noqa: SLF001 - as the product asks
        return server.Forked(Path(os.environ[VARIABLE]), request, says, out), hears
    finally:
        os.close(out)


@contextlib.contextmanager
def farm() -> Iterator[str]:
    """A server that forks an agent for whoever connects to the socket that is given."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}  # the probes are small and many
    with tempfile.TemporaryDirectory() as folder:
        address = f"{folder}/socket"
        command = [sys.executable, str(HERE / "server.py"), address, str(AGENT)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as farmer:
            try:
                assert farmer.stdout is not None
                assert farmer.stdout.readline() == b"ready\n"
                yield address
            finally:
                farmer.kill()


def use(address: str) -> None:
    """Has every probe of this process fork from the farm at an address; an empty one: start an interpreter again."""
    os.environ[VARIABLE] = address
    launch.AGENT = HERE / "client.py" if address else AGENT  # for processes that a run starts
    vars(server)["OWN"] = not address
    vars(launch)["_started"] = forked if address else STARTED


def ran(address: str, script: Path) -> None:
    """Have the farm at an address run a script as `torchrun --nproc-per-node 1` does, only that torch is loaded already.

    Raises:
        CalledProcessError: it fails.
    """
    command = [sys.executable, str(HERE / "client.py"), str(script)]
    with socket.create_server(("localhost", 0)) as free:
        group = {"MASTER_ADDR": "localhost", "MASTER_PORT": str(free.getsockname()[1])}
    group |= {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "1"}
    subprocess.run(command, env=os.environ | group | {VARIABLE: address}, check=True, timeout=120)
