"""Probes that fork from one process with torch in it: importing torch for each of hundreds would take minutes."""

from __future__ import annotations

import contextlib
import marshal
import os
import select
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import torch_doctor
from torch_doctor.probe import launch, server

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

VARIABLE = "TORCH_DOCTOR_FARM"
HERE = Path(__file__).parent
AGENT = Path(torch_doctor.__file__).parent / "probe/agent"


class Forked:
    """Like `subprocess.Popen`: a child of this process that the farm forked. An interpreter takes longer to start."""

    def __init__(
        self, command: Sequence[Any], *, cwd: str, env: Mapping[str, str], pass_fds: Sequence[int], **_: object
    ) -> None:
        os.stat(command[0])  # noqa: PTH116 - raises what Popen does where there is no such interpreter
        self.returncode: int | None = None
        hears, says = os.pipe()
        self.stdout = open(hears, "rb", buffering=0)  # noqa: PTH123, SIM115 - who listens closes it
        request = marshal.dumps((False, list(map(str, command[2:])), dict(env), cwd))
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(os.environ[VARIABLE])
            socket.send_fds(connection, [len(request).to_bytes(4, "big")], [*pass_fds, says, says])
            connection.sendall(request)
            os.close(says)
            self.pid = int(connection.recv(16))

    def poll(self) -> int | None:
        if self.returncode is None and os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            self.returncode = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self.returncode

    def wait(self, timeout: float) -> int:
        if self.returncode is None:
            ended = os.pidfd_open(self.pid)
            select.select([ended], [], [], timeout)
            os.close(ended)
        if (status := self.poll()) is None:
            raise subprocess.TimeoutExpired(self.stdout.name, timeout)
        return status


FORKING = SimpleNamespace(
    Popen=Forked, PIPE=subprocess.PIPE, STDOUT=subprocess.STDOUT, DEVNULL=subprocess.DEVNULL
)  # instead of the module, for who starts the agent


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
    launch.AGENT = HERE / "client.py" if address else AGENT  # for processes that a run starts
    vars(server)["OWN"] = not address
    vars(launch)["subprocess"] = FORKING if address else subprocess


def ran(address: str, script: Path) -> None:
    """Has the farm at an address run a script by itself, as `python SCRIPT` does, only that torch is there already.

    Raises:
        CalledProcessError: it fails.
    """
    command = [sys.executable, str(HERE / "client.py"), str(script)]
    subprocess.run(command, env=os.environ | {VARIABLE: address}, check=True, timeout=120)
