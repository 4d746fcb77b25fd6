"""The process that runs the script and all that it starts: weighed while they run, and ended to the last."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

TOKEN = "TORCH_DOCTOR_PROBE"  # noqa: S105 - the name of a variable of the environment that all descendants inherit
PATIENCE = 1.0  # seconds between the request to end and the end
GLANCE = 0.02
LINUX = sys.platform == "linux"
PROC = Path("/proc")


class Child(Protocol):
    """The process that runs a script; it leads its own session."""

    @property
    def number(self) -> int:
        """Its number, which is its own until `status` was told."""

    @property
    def over(self) -> bool:
        """Whether `status` was told."""

    def running(self) -> bool:
        """Whether it still runs."""

    def wait(self, seconds: float) -> None:
        """Wait until it ends, at most so many seconds."""

    def status(self, seconds: float) -> int:
        """Its exit status (negative: its signal), waited for at most so long."""


class Started:
    """One that we have started."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self.number = process.pid

    @property
    def over(self) -> bool:
        """Whether `status` was told."""
        return self._process.returncode is not None

    def running(self) -> bool:
        """Whether it still runs. One that ended keeps its number until `status` is called."""
        if self.over:
            return False
        if not LINUX:
            return self._process.poll() is None
        return os.waitid(os.P_PID, self.number, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None

    def wait(self, seconds: float) -> None:
        """Wait until it ends, at most so many seconds."""
        if sys.platform != "linux":
            time.sleep(seconds)
            return
        try:
            ended = os.pidfd_open(self.number)
        except OSError:  # before Linux 5.3
            time.sleep(seconds)
            return
        try:
            poll = select.poll()
            poll.register(ended, select.POLLIN)
            poll.poll(seconds * 1000)
        finally:
            os.close(ended)

    def status(self, seconds: float) -> int:
        """Its exit status (negative: its signal)."""
        try:
            return self._process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:  # in the kernel's hands
            return -signal.SIGKILL


class Descendants:
    """A child with everything below it, also what left its session."""

    def __init__(self, child: Child, token: str) -> None:
        self._child = child
        self._token = f"{TOKEN}={token}".encode()
        self._began: dict[int, bytes] = {}
        self.count = 1

    def running(self) -> bool:
        """Whether the child itself still runs."""
        return self._child.running()

    def wait(self, seconds: float) -> None:
        """Wait until the child ends, at most so many seconds."""
        self._child.wait(seconds)

    @property
    def seen(self) -> frozenset[int]:
        """The numbers of all the processes that were seen so far."""
        return frozenset((*self._began, self._child.number))

    def resident(self) -> int:
        """The bytes of memory that the child and what it started take; 0 where the system does not tell."""
        if LINUX:
            numbers = self._look()
            return sum(_resident(number, shared=len(numbers) > 1) for number in numbers)
        return _resident_by_ps(self._child.number)

    def expendable(self) -> None:
        """Where memory runs out all the same, the child is the one to go."""
        with contextlib.suppress(OSError):
            (PROC / str(self._child.number) / "oom_score_adj").write_text("1000", encoding="ascii")

    def interrupt(self) -> None:
        """Asks the child, and nobody below it, to come to its end."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._child.number, signal.SIGINT)

    def end(self, *, at_once: bool = False) -> int:
        """Ends all that is left, first by asking unless `at_once`, and returns the child's exit status (negative: its signal)."""
        if LINUX and self.running():
            self._look()
        for number in (signal.SIGKILL,) if at_once else (signal.SIGTERM, signal.SIGKILL):
            if self._tell(number):
                limit = time.monotonic() + PATIENCE
                while self._any_left() and time.monotonic() < limit:
                    time.sleep(GLANCE)
        return self._child.status(PATIENCE)

    # --- within ---

    def _look(self) -> list[int]:
        """The child and all below it, of which each is known from now on, whatever it makes of its environment."""
        numbers = list(self._below(self._child.number))
        self.count = len(numbers)
        for number in numbers[1:]:
            if number not in self._began:
                self._began[number] = _began(number)
        return numbers

    def _any_left(self) -> bool:
        return self.running() or any(True for _ in self._others())

    def _tell(self, number: signal.Signals) -> bool:
        """Whether there was anyone to tell."""
        told = False
        if not self._child.over:  # the number of the group is still its own
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._child.number, number)
                told = self.running()
        for other in self._others():
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(other, number)
                told = True
        return told

    def _below(self, number: int) -> Iterator[int]:
        yield number
        with contextlib.suppress(OSError, ValueError):
            for task in (PROC / str(number) / "task").iterdir():
                for child in (task / "children").read_text(encoding="ascii").split():
                    yield from self._below(int(child))

    def _others(self) -> Iterator[int]:
        """Everything alive that inherited the token, besides the child."""
        known = {
            number for number, began in self._began.items() if began and _began(number) == began and _alive(number)
        }
        yield from known
        yield from with_token(self._token, but=known | {self._child.number})


def with_token(token: bytes, but: Collection[int] = ()) -> Iterator[int]:
    """Everything alive that inherited a token, besides ourselves and some others."""
    if not LINUX:
        return
    for name in os.listdir(PROC):  # noqa: PTH208 - there are many, and a `Path` for each takes longer than the rest
        if name.isdecimal() and int(name) != os.getpid() and int(name) not in but:
            with contextlib.suppress(OSError):
                if token in _told(name, "environ").split(b"\0") and _alive(name):
                    yield int(name)


def _told(process: str | int, what: str) -> bytes:
    with open(f"{PROC}/{process}/{what}", "rb", buffering=0) as file:  # noqa: PTH123 - as above
        return file.read()


def _alive(process: str | int) -> bool:
    try:
        state = _told(process, "stat").rpartition(b")")[2].split()[:1]
    except OSError:
        return False
    return state not in ([b"Z"], [b"X"])


def _began(process: int) -> bytes:
    """When a process began, by which it is told from a later one of the same number; nothing where it is gone."""
    try:
        return _told(process, "stat").rpartition(b")")[2].split()[19]
    except (OSError, IndexError):
        return b""


def _resident(number: int, *, shared: bool) -> int:
    """What one process takes; where pages are shared with others, its share of them."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        if shared:
            for line in (PROC / str(number) / "smaps_rollup").read_bytes().splitlines():
                if line.startswith(b"Pss:"):
                    return int(line.split()[1]) * 1024
        return int((PROC / str(number) / "statm").read_bytes().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return 0


def _resident_by_ps(group: int) -> int:
    with contextlib.suppress(OSError, ValueError, subprocess.SubprocessError):
        command = ["/bin/ps", "-A", "-o", "pgid=,rss="]
        listed = subprocess.run(command, capture_output=True, text=True, check=True, timeout=PATIENCE).stdout  # noqa: S603 - ours
        pairs = [line.split() for line in listed.splitlines()]
        return sum(int(size) * 1024 for number, size in pairs if int(number) == group)
    return 0
