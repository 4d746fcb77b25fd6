"""Starts the agent on a script in a process of its own, listens to both, and leaves nothing behind."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import selectors
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torch_doctor.probe.activity import Activity
from torch_doctor.probe.channels import Channels, opened
from torch_doctor.probe.following import Attention
from torch_doctor.probe.inherited import HASHES, environment
from torch_doctor.probe.output import Output
from torch_doctor.probe.processes import Child, Descendants, Started
from torch_doctor.probe.scratch import forget_shared, mark, size
from torch_doctor.probe.server import Forked

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

AGENT = Path(__file__).with_name("agent")
LEAST_MEMORY = 4096 << 20
GLANCE = 0.05  # seconds between two looks at the memory
LAST_WORDS = 0.3  # seconds for what is still in the pipes when the script has ended
CHUNK = 1 << 16
MEASURING = 1.0  # seconds between two looks at what was written
LEAST_ROOM = 256 << 20  # bytes that have to stay free on the disk
PLAN = "plan.json"
TO_THE_POINT = 2.0  # seconds for one that is interrupted to tell what it saw


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How long a run may take, in seconds; how much memory it and what it starts may use, and how much it may write, in bytes."""

    seconds: float = 60.0
    memory: int = 4096 << 20
    written: int = 16384 << 20
    processes: int = 256


@dataclass(slots=True)
class Launched:
    """What came of a run: the lines of the protocol, how the process ended, and why we ended it, if we did.

    `status` is the exit status (negative: the signal), `ended_for` is "time", "memory", "disk", "written", "processes",
    "interrupt", "torn" (of what the agent said something was lost), "much" (it said more than we keep) or "". Where several
    processes run the script, `ranks` are the lines of each and `lines` those of the one that started them. `foreign` are the
    bytes that somebody else than the agent wrote to its pipes.
    """

    lines: list[bytes]
    status: int
    ended_for: str
    output: Output
    seconds: float
    peak: int
    ranks: tuple[list[bytes], ...] = ()
    foreign: int = 0


def launched(
    python: Path,
    plan: Mapping[str, Any],
    limits: Limits,
    attention: Attention | None = None,
    hears: Callable[[bytes], None] | None = None,
) -> Launched:
    """Runs the script of a plan, which says where the scratch folder is; `hears` gets each line as soon as it is there.

    Raises:
        OSError: the interpreter cannot be started.
    """
    scratch = Path(plan["scratch"])
    plan = {**plan, "secret": secrets.token_hex(16), "unset": [name for name in HASHES if name not in os.environ]}
    (scratch / PLAN).write_text(json.dumps({**plan, "agent": str(AGENT), "began": time.time()}), encoding="utf-8")
    token = secrets.token_hex(16)
    mark(scratch, token)
    with opened(scratch, plan) as channels, contextlib.ExitStack() as open_:
        started = _forked if plan.get("server") else _started
        child, output = started(python, plan, channels.first.says, environment(scratch, token, plan.get("threads", 0)))
        open_.callback(os.close, output)
        channels.started()
        descendants = Descendants(child, token)
        waits = attention or Attention()
        listener = open_.enter_context(contextlib.closing(_Listener(output, channels, descendants, limits, waits)))
        listener.hears = hears
        try:
            return listener.listen(scratch)
        finally:
            listener.close()
            forget_shared(scratch, descendants.seen)


def _started(python: Path, plan: Mapping[str, Any], says: int, environment: dict[str, str]) -> tuple[Child, int]:
    """The agent in an interpreter of its own, and the pipe with what it prints."""
    process = subprocess.Popen(  # noqa: S603 - what we were asked to run
        [python, AGENT, *_arguments(plan, says)],
        cwd=plan["cwd"],
        env=HASHES | environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        pass_fds=(says,),
        start_new_session=True,
    )
    assert process.stdout is not None  # noqa: S101 - it is a pipe
    with process.stdout as output:
        return Started(process), os.dup(output.fileno())


def _forked(python: Path, plan: Mapping[str, Any], says: int, environment: dict[str, str]) -> tuple[Child, int]:
    """As `_started`, in a fork of a server; where it is gone meanwhile, in an interpreter of its own."""
    hears, out = os.pipe()
    try:
        request = (_arguments(plan, says), environment, plan["cwd"])
        return Forked(Path(plan["server"]), request, says, out), hears
    except OSError:
        os.close(hears)
        return _started(python, plan, says, environment)
    finally:
        os.close(out)


def _arguments(plan: Mapping[str, Any], says: int) -> list[str]:
    return ["--plan", str(Path(plan["scratch"], PLAN)), "--fd", str(says)]


class _Listener:
    """One run under way."""

    def __init__(
        self,
        output: int,
        channels: Channels,
        descendants: Descendants,
        limits: Limits,
        attention: Attention,
    ) -> None:
        self._pipe = output
        self._channels = channels
        self._descendants = descendants
        self._limits = limits
        self._attention = attention
        self._activity = Activity()
        self._output = Output()
        self._peak = 0
        self._selector = selectors.DefaultSelector()
        self._status: int | None = None
        self._room = 0
        self._measured = 0.0
        self.hears: Callable[[bytes], None] | None = None
        self._rest = b""
        descendants.expendable()

    def listen(self, scratch: Path) -> Launched:
        """Takes in all that is said until the script has ended, or has to."""
        start = time.monotonic()
        os.set_blocking(self._pipe, False)
        self._selector.register(self._pipe, selectors.EVENT_READ, self._output.add)
        for channel in self._channels.all():
            self._selector.register(channel.hears, selectors.EVENT_READ, channel.hear)
        ended_for, looked = "", 0.0
        while not ended_for and self._descendants.running():
            self._take(GLANCE)
            if time.monotonic() - looked >= GLANCE:  # what is printed may come in a thousand pieces a second
                ended_for = self._too_much(start, scratch)
                self._tell(start)
                looked = time.monotonic()
        if ended_for == "interrupt":
            self._hear_out()
        self._last_words()
        self._status = self._descendants.end(at_once=self._attention.stop.at_once)
        self._last_words()
        self._tell(start)
        every = self._channels.all()
        return Launched(
            self._channels.first.lines(),
            self._status,
            ended_for or next(filter(None, (channel.fault for channel in every)), ""),
            self._output,
            time.monotonic() - start,
            self._peak,
            tuple(channel.lines() for channel in self._channels.ranks),
            sum(channel.unpacker.foreign for channel in every),
        )

    def close(self) -> None:
        """Ends whatever still runs."""
        if self._status is None:
            self._descendants.end(at_once=True)
        self._selector.close()

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

    def _tell(self, start: float) -> None:
        """Tells who follows what the first process is at."""
        follower = self._attention.follower
        if not follower.listens and self.hears is None:
            return
        news = self._channels.first.news()
        if self.hears is not None:
            *lines, self._rest = (self._rest + news).split(b"\n")
            for line in lines:
                self.hears(line)
        if follower.listens:
            self._activity.hear(news)
            left = max(0.0, self._limits.seconds - (time.monotonic() - start))
            follower.doing(self._attention.script, self._activity.words, left)

    def _hear_out(self) -> None:
        """Lets one that is interrupted tell what it saw, unless there is no time even for that."""
        self._descendants.interrupt()
        limit = time.monotonic() + TO_THE_POINT
        while self._descendants.running() and time.monotonic() < limit and not self._attention.stop.at_once:
            self._take(GLANCE)

    def _last_words(self) -> None:
        limit = time.monotonic() + LAST_WORDS
        while self._selector.get_map() and time.monotonic() < limit:
            if not self._take(GLANCE) and not self._descendants.running():
                return

    def _too_much(self, start: float, scratch: Path) -> str:
        if self._attention.stop.asked:
            return "interrupt"
        if time.monotonic() - start > self._limits.seconds:
            return "time"
        if fault := next(filter(None, (channel.fault for channel in self._channels.all())), ""):
            return fault
        self._peak = max(self._peak, resident := self._descendants.resident())
        if resident > self._limits.memory:
            return "memory"
        if self._descendants.count > self._limits.processes:
            return "processes"
        return self._too_much_written(scratch)

    def _too_much_written(self, scratch: Path) -> str:
        disk = os.statvfs(scratch)
        room = disk.f_bavail * disk.f_frsize
        if room < LEAST_ROOM:
            return "disk"
        self._room = self._room or room
        most = min(self._limits.written, self._room // 2)
        now = time.monotonic()
        if self._room - room > most and now - self._measured > MEASURING:  # others write there, too
            self._measured = now
            return "written" if size(scratch) > most else ""
        return ""


def usual_memory(runs: int = 1) -> int:
    """How much memory each of so many runs may take when nobody says, in bytes.

    It is its share of three quarters of what is free, and 4 GiB at least.
    """
    try:
        told = Path("/proc/meminfo").read_text(encoding="ascii")
        free = next(int(line.split()[1]) for line in told.splitlines() if line.startswith("MemAvailable:")) << 10
    except (OSError, StopIteration, ValueError, IndexError):  # not Linux
        return LEAST_MEMORY
    return max(LEAST_MEMORY, free // 4 * 3 // max(1, runs))
