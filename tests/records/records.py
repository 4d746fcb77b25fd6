"""Runs of the agent that are kept: where nothing changed of what one is made of, its lines are told again.

A run depends on the script and all files of its project, on what the agent is told, which includes what the source says of
the script, and on the ground (`tests/records/ground.py`). A test keeps its runs once it has passed; rules, judging and the
static witness are free to change. With `TORCH_DOCTOR_TEST_CACHE=off` every script is run, and nothing is kept.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import threading
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from tests.records.ground import TESTS, ground, variables
from torch_doctor.probe import launch
from torch_doctor.probe.launch import Launched, Limits, launched
from torch_doctor.probe.output import Output

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from torch_doctor.probe.following import Attention

VARIABLE = "TORCH_DOCTOR_TEST_CACHE"
DEFAULT = TESTS.parent / ".cache/runs"
SCRATCH, PROJECT = b"\0scratch\0", b"\0project\0"
"""Stand for the two folders of a run that have other names in the next one; the lines of a run hold no zero."""

FILES, BYTES = 200, 8 << 20
"""A project with more than that is no script of a test: its run is not kept."""

ROUND = 10.0
"""Seconds to which the time of a run that follows another one is rounded: how long the other took is an accident."""

BESIDE = frozenset(("__pycache__", ".torch_doctor_cache"))


class Run(msgspec.Struct, frozen=True):
    """What `Launched` holds of a run that came to an end."""

    lines: list[bytes]
    ranks: list[list[bytes]]
    status: int
    output: tuple[bytes, bytes, int]
    seconds: float
    peak: int
    foreign: int


@dataclass(frozen=True)
class Place:
    """The folders of a run."""

    scratch: bytes
    project: bytes

    def keep(self, data: bytes) -> bytes:
        """Data without their names."""
        return data.replace(self.scratch, SCRATCH).replace(self.project, PROJECT)

    def tell(self, data: bytes) -> bytes:
        """Kept data with their names."""
        return data.replace(PROJECT, self.project).replace(SCRATCH, self.scratch)


class Records:
    """The runs of one test; several may be under way at once.

    `told` counts runs that were told again, `ran` those that were made.
    """

    def __init__(self, test: str, folder: Path | None) -> None:
        self._path = folder / hashlib.sha256(test.encode()).hexdigest()[:24] if folder is not None else None
        self._kept = read(self._path)
        self._used: dict[str, Run] = {}
        self._lock = threading.Lock()
        self.told = self.ran = 0

    def launched(
        self,
        python: Path,
        plan: Mapping[str, Any],
        limits: Limits,
        attention: Attention | None = None,
        hears: Callable[[bytes], None] | None = None,
    ) -> Launched:
        """As `torch_doctor.probe.launch.launched`, from the record where there is one."""
        key = None
        if self._path is not None and not (attention is not None and attention.follower.listens):
            key = key_of(python, plan, limits)
        if key is None:
            return launched(python, plan, limits, attention, hears)
        place = Place(str(plan["scratch"]).encode(), str(plan["project"]).encode())
        if (run := self._kept.get(key)) is not None:
            with self._lock:
                self._used[key] = run
                self.told += 1
            done = _told(run, place)
            if hears is not None:
                for line in done.lines:
                    hears(line)
            return done
        done = launched(python, plan, limits, attention, hears)
        with self._lock:
            self.ran += 1
            if not done.ended_for:
                self._used[key] = _kept(done, place)
        return done

    def keep(self) -> None:
        """Writes down all runs that the test had, which has passed, unless they were there."""
        if self._path is None or self._used.keys() == self._kept.keys():
            return
        content = zlib.compress(msgspec.msgpack.encode(self._used), 1)
        self._path.parent.mkdir(parents=True, exist_ok=True)
        being_written = self._path.with_suffix(f".{os.getpid()}")
        being_written.write_bytes(hashlib.sha256(content).digest() + content)
        being_written.replace(self._path)


def folder() -> Path | None:
    """Where runs are kept; None where they are not."""
    said = os.environ.get(VARIABLE, "")
    return None if said == "off" else Path(said) if said else DEFAULT


def read(path: Path | None) -> dict[str, Run]:
    """The runs in a file, by their keys; none where it is damaged, or not there."""
    try:
        content = path.read_bytes() if path is not None else b""
        if hashlib.sha256(content[32:]).digest() != content[:32]:
            return {}
        return msgspec.msgpack.decode(zlib.decompress(content[32:]), type=dict[str, Run])
    except (OSError, zlib.error, msgspec.MsgspecError):
        return {}


def key_of(python: Path, plan: Mapping[str, Any], limits: Limits) -> str | None:
    """One word for all that a run is made of; None for one that depends on more.

    That is a run by another interpreter, by a server that is there already, of files outside its project, or of a large one.
    """
    project = Path(plan["project"])
    inside = all(Path(plan[name]).is_relative_to(project) for name in ("script", "cwd"))
    if not own(python) or plan.get("server") or not inside or (files := _content(project)) is None:
        return None
    told = {name: each for name, each in plan.items() if name not in {"scratch", "timeout"}}
    rounded = -(-limits.seconds // ROUND) * ROUND
    facts = [
        told,
        python.name,
        launch.AGENT.name,
        rounded,
        limits.written,
        limits.processes,
        files,
        variables(os.environ),
    ]
    words = (
        json.dumps(facts, sort_keys=True).replace(str(plan["scratch"]), "<scratch>").replace(str(project), "<project>")
    )
    return hashlib.sha256((ground() + words).encode()).hexdigest()


def own(python: Path) -> bool:
    """Whether it is the interpreter of this process, by any name in its environment: a probe starts `python` for `python3`."""
    ours = Path(sys.executable)
    return python.parent == ours.parent and python.resolve() == ours.resolve()


def _content(project: Path) -> list[tuple[str, str]] | None:
    """Every file of a project with what is in it; None where there is much."""
    found: list[tuple[str, str]] = []
    size = 0
    for at, folders, names in os.walk(project):
        folders[:] = sorted(set(folders) - BESIDE)
        for name in sorted(names):
            path = Path(at, name)
            where = path.relative_to(project).as_posix()
            if path.is_symlink() or not path.is_file():
                found.append((where, str(path.readlink()) if path.is_symlink() else "special"))
                continue
            size += path.stat().st_size
            if len(found) >= FILES or size > BYTES:
                return None
            found.append((where, hashlib.sha256(path.read_bytes()).hexdigest()))
        found += [(Path(at, each).relative_to(project).as_posix(), "folder") for each in folders]
    return found


def _kept(done: Launched, place: Place) -> Run:
    output = done.output
    return Run(
        [place.keep(line) for line in done.lines],
        [[place.keep(line) for line in lines] for lines in done.ranks],
        done.status,
        (place.keep(bytes(output.head)), place.keep(bytes(output.tail)), output.left_out),
        done.seconds,
        done.peak,
        done.foreign,
    )


def _told(run: Run, place: Place) -> Launched:
    head, tail, left_out = run.output
    return Launched(
        [place.tell(line) for line in run.lines],
        run.status,
        "",
        Output(bytearray(place.tell(head)), bytearray(place.tell(tail)), left_out),
        run.seconds,
        run.peak,
        tuple([place.tell(line) for line in lines] for lines in run.ranks),
        run.foreign,
    )
