"""Starts the agent on a script in a process of its own, listens to both, and leaves nothing behind."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import secrets
import selectors
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torch_doctor.probe.channels import Channels, opened
from torch_doctor.probe.processes import TOKEN, Descendants

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from types import FrameType

AGENT = Path(__file__).with_name("agent")
LEAST_MEMORY = 4096 << 20
GLANCE = 0.05  # seconds between two looks at the memory
LAST_WORDS = 0.3  # seconds for what is still in the pipes when the script has ended
CHUNK = 1 << 16
MOST_SHOWN = 256 << 10  # bytes of the script's output, from its beginning and again from its end
LEAST_ROOM = 256 << 20  # bytes that have to stay free on the disk
DEATH_OF_PARENT = 1  # PR_SET_PDEATHSIG


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How long a run may take, in seconds, and how much memory it and what it starts may use, in bytes."""

    seconds: float = 60.0
    memory: int = 4096 << 20


@dataclass(slots=True)
class Output:
    """What the script printed: the beginning and the end, where it is much."""

    head: bytearray = field(default_factory=bytearray)
    tail: bytearray = field(default_factory=bytearray)
    left_out: int = 0

    def add(self, data: bytes) -> None:
        """Takes some more."""
        room = MOST_SHOWN - len(self.head)
        self.head += data[:room]
        self.tail += data[room:] if room < len(data) else b""
        if (excess := len(self.tail) - MOST_SHOWN) > MOST_SHOWN:
            del self.tail[:excess]
            self.left_out += excess

    def text(self) -> str:
        """What there is, as text, whatever it was."""
        tail = bytes(self.tail[-MOST_SHOWN:])
        left_out = self.left_out + len(self.tail) - len(tail)
        middle = f"\n[{left_out:,} bytes left out]\n".encode() if left_out else b""
        return (bytes(self.head) + middle + tail).decode("utf-8", "replace")


@dataclass(slots=True)
class Launched:
    """What came of a run: the lines of the protocol, how the process ended, and why we ended it, if we did.

    `status` is the exit status (negative: the signal), `ended_for` is "time", "memory", "disk" or "". Where several
    processes run the script, `ranks` are the lines of each and `lines` those of the one that started them.
    """

    lines: list[bytes]
    status: int
    ended_for: str
    output: Output
    seconds: float
    peak: int
    ranks: tuple[list[bytes], ...] = ()


@contextlib.contextmanager
def scratch_folder() -> Iterator[Path]:
    """A folder for all that the script writes; it is gone afterwards, whatever the script made of it."""
    folder = Path(tempfile.mkdtemp(prefix="torch-doctor-")).resolve()
    (folder / "tmp").mkdir()
    try:
        yield folder
    finally:
        _remove(folder)


def launched(python: Path, plan: Mapping[str, Any], limits: Limits) -> Launched:
    """Runs the script of a plan, which says where the scratch folder is.

    Raises:
        OSError: the interpreter cannot be started.
    """
    scratch = Path(plan["scratch"])
    plan_file = scratch / "plan.json"
    plan_file.write_text(json.dumps({**plan, "agent": str(AGENT), "began": time.time()}), encoding="utf-8")
    token = secrets.token_hex(16)
    with opened(scratch, plan) as channels:
        says = channels.first.says
        child = subprocess.Popen(  # noqa: S603 - what we were asked to run
            [python, AGENT, "--plan", str(plan_file), "--fd", str(says)],
            cwd=plan["cwd"],
            env=_environment(scratch, token),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            pass_fds=(says,),
            start_new_session=True,
            preexec_fn=_prepared(),  # noqa: PLW1509 - it calls the kernel and nothing else
        )
        channels.started()
        descendants = Descendants(child, token)
        with _ended_with_us(), contextlib.closing(_Listener(child, channels, descendants, limits)) as listener:
            return listener.listen(scratch)


class _Listener:
    """One run under way."""

    def __init__(
        self, child: subprocess.Popen[bytes], channels: Channels, descendants: Descendants, limits: Limits
    ) -> None:
        self._child = child
        self._channels = channels
        self._descendants = descendants
        self._limits = limits
        self._output = Output()
        self._peak = 0
        self._selector = selectors.DefaultSelector()
        self._status: int | None = None
        _expendable(child.pid)

    def listen(self, scratch: Path) -> Launched:
        """Takes in all that is said until the script has ended, or has to."""
        start = time.monotonic()
        assert self._child.stdout is not None  # noqa: S101 - it is a pipe
        os.set_blocking(self._child.stdout.fileno(), False)
        self._selector.register(self._child.stdout, selectors.EVENT_READ, self._output.add)
        for channel in self._channels.all():
            self._selector.register(channel.hears, selectors.EVENT_READ, channel.hear)
        ended_for = ""
        while not ended_for and self._descendants.running():
            self._take(GLANCE)
            ended_for = self._too_much(start, scratch)
        self._last_words()
        self._status = self._descendants.end()
        self._last_words()
        return Launched(
            self._channels.first.lines(),
            self._status,
            ended_for,
            self._output,
            time.monotonic() - start,
            self._peak,
            tuple(channel.lines() for channel in self._channels.ranks),
        )

    def close(self) -> None:
        """Ends whatever still runs."""
        if self._status is None:
            self._descendants.end()
        self._selector.close()
        if self._child.stdout is not None:
            self._child.stdout.close()

    def _take(self, seconds: float) -> bool:
        """Takes what has come within some time; whether there was anything."""
        if not self._selector.get_map():
            self._descendants.wait(seconds)
            return False
        ready = self._selector.select(seconds)
        for key, _ in ready:
            try:
                data = os.read(key.fd, CHUNK)
            except BlockingIOError:
                continue
            if data:
                key.data(data)
            else:
                self._selector.unregister(key.fd)
        return bool(ready)

    def _last_words(self) -> None:
        limit = time.monotonic() + LAST_WORDS
        while self._selector.get_map() and time.monotonic() < limit:
            if not self._take(GLANCE) and not self._descendants.running():
                return

    def _too_much(self, start: float, scratch: Path) -> str:
        if time.monotonic() - start > self._limits.seconds:
            return "time"
        self._peak = max(self._peak, resident := self._descendants.resident())
        if resident > self._limits.memory:
            return "memory"
        room = os.statvfs(scratch)
        return "disk" if room.f_bavail * room.f_frsize < LEAST_ROOM else ""


def usual_memory() -> int:
    """How much memory a run may take when nobody says: three quarters of what is free, in bytes, and 4 GiB at least."""
    try:
        told = Path("/proc/meminfo").read_text(encoding="ascii")
        free = next(int(line.split()[1]) for line in told.splitlines() if line.startswith("MemAvailable:")) << 10
    except (OSError, StopIteration, ValueError, IndexError):  # not Linux
        return LEAST_MEMORY
    return max(LEAST_MEMORY, free // 4 * 3)


def _environment(scratch: Path, token: str) -> dict[str, str]:
    temporary = str(scratch / "tmp")
    return os.environ | {
        TOKEN: token,
        "TMPDIR": temporary,
        "TEMP": temporary,
        "TMP": temporary,
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONUNBUFFERED": "1",
        "MPLBACKEND": "Agg",
        "MPLCONFIGDIR": temporary,
        "NUMBA_CACHE_DIR": temporary,  # it does not start where it may keep compiled code nowhere
    }


def _prepared() -> Any:  # noqa: ANN401 - what `Popen` calls in the child
    """What the child does before it becomes the interpreter: it dies with us, and leaves no core file."""
    import resource  # noqa: PLC0415 - not on Windows

    kernel = ctypes.CDLL(None) if sys.platform == "linux" else None

    def prepare() -> None:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if kernel is not None:
            kernel.prctl(DEATH_OF_PARENT, signal.SIGKILL)

    return prepare


@contextlib.contextmanager
def _ended_with_us() -> Iterator[None]:
    """Makes requests that we end unwind the stack, so that what we started ends too."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def leave(number: int, _: FrameType | None) -> None:
        raise SystemExit(128 + number)

    numbers = (signal.SIGTERM, signal.SIGHUP)
    before = [signal.signal(number, leave) for number in numbers]
    try:
        yield
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


def _expendable(number: int) -> None:
    """Where memory runs out all the same, this process is the one to go."""
    with contextlib.suppress(OSError):
        Path(f"/proc/{number}/oom_score_adj").write_text("1000", encoding="ascii")


def _remove(folder: Path) -> None:
    with contextlib.suppress(OSError):
        folder.chmod(stat.S_IRWXU)
    for top, folders, _ in os.walk(folder):
        for name in folders:
            path = Path(top, name)
            if not path.is_symlink():
                with contextlib.suppress(OSError):
                    path.chmod(stat.S_IRWXU)
    shutil.rmtree(folder, ignore_errors=True)
