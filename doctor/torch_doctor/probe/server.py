"""A server that keeps torch imported, and forks the processes of runs: one for each interpreter, torch and environment.

It listens in a folder that only its user can enter, and ends by itself when nobody needed it for a while.
"""

from __future__ import annotations

import hashlib
import json
import marshal
import os
import select
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

from torch_doctor import __version__
from torch_doctor.probe.inherited import HASHES, YIELDING
from torch_doctor.probe.scratch import Scratch

if TYPE_CHECKING:
    from torch_doctor.probe.following import Attention

IDLE = 600.0  # seconds after which one that nobody needs ends
PATIENCE = 60.0  # seconds for torch to be imported
GLANCE = 0.1
LONGEST = 107  # bytes of the path of a Unix socket, by unix(7)
READY, BUSY = b"ready", b"busy"
SILENT = "it did not start"
OWN = True  # whether a command may have servers of its own
SETTING = (b"environ", b"putenv")  # what the text of a script speaks of that sets variables before torch is imported
STARTING = threading.Lock()
AGENT = Path(__file__).with_name("agent")
READ_AT_IMPORT = ("PYTHON", "TORCH", "PYTORCH", "OMP_", "MKL_", "KMP_", "OPENBLAS_", "CUDA", "NVIDIA_", "LD_", "ATEN_")
"""What the names of the variables begin with that Python, torch and its libraries read when they are imported."""


class NoServerError(Exception):
    """Why no server can be asked, in words."""


def address(python: Path, torch: str) -> Path:
    """Where the server of an interpreter with this torch listens, or would.

    Raises:
        NoServerError: there is no folder that is ours alone, or its path is too long.
    """
    if sys.platform != "linux":
        message = "it requires Linux"
        raise NoServerError(message)
    newest = max(path.stat().st_mtime_ns for path in AGENT.rglob("*.py"))
    variables = sorted((name, value) for name, value in os.environ.items() if name.startswith(READ_AT_IMPORT))
    key = json.dumps([str(python), torch, __version__, str(AGENT), newest, variables])
    path = _folder() / f"{hashlib.sha256(key.encode()).hexdigest()[:16]}.socket"
    if len(os.fsencode(path)) > LONGEST:
        message = f"the path of {path.parent} is too long for a socket"
        raise NoServerError(message)
    return path


def ready(python: Path, path: Path, attention: Attention) -> None:
    """Has a server listen there: the one that does, or a new one.

    Raises:
        NoServerError: none can.
    """
    limit = time.monotonic() + PATIENCE
    with STARTING:
        while not _listens(path):
            with _started(python, path, IDLE) as server:
                said = _said(server, attention, limit)
            if said == BUSY:  # somebody else has just started it
                time.sleep(GLANCE)
            elif said != READY:
                raise NoServerError(SILENT)


class Own:
    """Servers of one command, one for each interpreter, which end with it: torch is imported once for all its runs.

    `several` tells that there are several scripts.
    """

    def __init__(self, *, several: bool) -> None:
        self._several = several
        self._lock = threading.Lock()
        self._servers: dict[Path, subprocess.Popen[bytes]] = {}
        self._folder: Scratch | None = None

    def serves(self, script: Path, *, again: bool) -> bool:
        """Whether the runs of a script are forked: where there are more than one, and it sets no variables for torch."""
        if not OWN or sys.platform != "linux" or not (self._several or again):
            return False
        try:
            text = script.read_bytes()
        except OSError:
            return False
        return not any(word in text for word in SETTING)

    def address(self, python: Path, attention: Attention) -> Path:
        """Where the server of an interpreter listens.

        Raises:
            NoServerError: it does not.
        """
        with self._lock:
            if self._folder is None:
                self._folder = Scratch()
            path = Path(self._folder.path, hashlib.sha256(str(python).encode()).hexdigest()[:16])
            if python not in self._servers:
                self._servers[python] = _started(python, path, 0.0)
                _said(self._servers[python], attention, time.monotonic() + PATIENCE)
            if not path.exists():
                raise NoServerError(SILENT)
            return path

    def close(self) -> None:
        """Ends them."""
        for server in self._servers.values():
            with server:
                server.kill()
        if self._folder is not None:
            self._folder.remove()


def _listens(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as asked:
        return asked.connect_ex(str(path)) == 0


def _started(python: Path, path: Path, idle: float) -> subprocess.Popen[bytes]:
    """A new server, or who has started one that goes on by itself."""
    return subprocess.Popen(  # noqa: S603 - what we were asked to run
        [str(python), str(AGENT), "--serve", str(path), str(idle)],
        cwd="/",
        env=HASHES | YIELDING | os.environ | {"OPENBLAS_NUM_THREADS": "1"},  # its threads would exist before a fork
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def _said(server: subprocess.Popen[bytes], attention: Attention, limit: float) -> bytes:
    """What a new server says; nothing where it does not come to that."""
    assert server.stdout is not None  # noqa: S101 - it is a pipe
    while not select.select([server.stdout], [], [], GLANCE)[0]:
        left = limit - time.monotonic()
        if attention.stop.asked or left < 0:
            return b""
        if attention.follower.listens:
            attention.follower.doing(attention.script, "importing torch", left)
    return server.stdout.readline().strip()


class Forked:
    """A process that a server has forked for us; it ends when we hang up."""

    def __init__(self, path: Path, request: tuple[list[str], dict[str, str], str], says: int, out: int) -> None:
        """Has the agent run with the arguments, environment and folder of a request.

        It writes its lines to `says`, and what it prints to `out`.

        Raises:
            OSError: nobody listens there.
        """
        self._connection = socket.socket(socket.AF_UNIX)
        try:
            self._connection.connect(str(path))
            data = marshal.dumps(request)
            socket.send_fds(self._connection, [len(data).to_bytes(4, "big")], [says, out, out])
            self._connection.sendall(data)
            self._told = b""
            self._hear(PATIENCE)
            self.number = int(self._told.split(b"\n")[0])
            if self.number == 0:
                message = "it exited before it forked"
                raise ConnectionResetError(message)
        except (OSError, ValueError) as error:
            self._connection.close()
            raise OSError(*error.args) from None
        self.over = False

    def running(self) -> bool:
        """Whether it still runs."""
        self._hear(0.0)
        return self._told.count(b"\n") < 2  # noqa: PLR2004 - its number and its status

    def wait(self, seconds: float) -> None:
        """Wait until it ends, at most so many seconds."""
        if self.running():
            self._hear(seconds)

    def status(self, seconds: float) -> int:
        """Its exit status (negative: its signal); the server ends it, and all that it left."""
        self.wait(seconds)
        ended = not self.running()
        self.over = True
        self._connection.close()
        return int(self._told.split(b"\n")[1]) if ended else -signal.SIGKILL

    def _hear(self, seconds: float) -> None:
        if not self.__dict__.get("over") and select.select([self._connection], [], [], seconds)[0]:
            self._told += self._connection.recv(64) or b"0\n-9\n"  # the server is gone, and all runs with it


def _folder() -> Path:
    """A folder that only this user can enter."""
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    folder = Path(runtime, "torch-doctor") if runtime else Path(tempfile.gettempdir(), f"torch-doctor-{os.getuid()}")
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
    except OSError as error:
        message = f"{folder}: {error.strerror}"
        raise NoServerError(message) from None
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or stat.S_IMODE(found.st_mode) & 0o077:
        message = f"{folder} is accessible to other users"
        raise NoServerError(message)
    return folder
