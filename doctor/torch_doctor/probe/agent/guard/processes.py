"""Refuses other processes, but for a few commands that only read; `os.system` does what a plain command does to files."""

from __future__ import annotations

import glob
import os
import shlex
import shutil
import signal
import sys
from typing import TYPE_CHECKING, Any

from . import real

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from .refusal import Refusals

# Commands that only tell something, with what they may be asked (None: anything).
READS: dict[str, frozenset[str] | None] = {
    "git": frozenset({"rev-parse", "describe", "log", "status", "diff", "show", "ls-files", "rev-list", "--version"}),
    "nvidia-smi": None,
    "fc-list": None,
    "uname": None,
    "lscpu": None,
    "hostname": frozenset({"", "-f", "-s", "-I"}),
    "whoami": None,
    "which": None,
    "nproc": None,
    "free": None,
    "df": None,
    "lsb_release": None,
    "ldconfig": frozenset({"-p"}),
    "ps": None,
}
QUERIES = (
    "-q",
    "--query",
    "-L",
    "--list-gpus",
    "--format",
    "-i",
    "--id",
    "-x",
    "-d",
    "--display",
    "-h",
    "--help",
    "--version",
)
"""What begins an option of `nvidia-smi` that sets nothing."""
PATH = os.environ.get("PATH", "")  # the script may change it
HARMLESS = frozenset({"clear", "cls", "echo", "true", "reset"})
SHELL = frozenset("|&;<>()$`#~{}\n")
OWN = os.getpid  # the script may replace it
TRACKER = "from multiprocessing.resource_tracker import main"


class ProcessGuard:
    """What the audit of processes asks, and the replacements for what no event tells of."""

    def __init__(self, refusals: Refusals, tell: Callable[..., None]) -> None:
        self._refusals = refusals
        self._tell = tell
        self.events: dict[str, Callable[..., None]] = {
            "subprocess.Popen": self._popen,
            "os.system": self._raw_system,
            "os.exec": self._exec,
            "os.posix_spawn": self._exec,
            "os.spawn": self._spawn,
            "os.fork": self._fork,
            "os.forkpty": self._fork,
            "pty.spawn": self._exec,
            "os.kill": self._must_be_own,
            "os.killpg": self._signalled,
        }

    def install(self) -> list[tuple[Any, Callable[..., Any]]]:
        """Replaces the functions in `os`, and returns (original, replacement) for those who hold them elsewhere."""
        # `git status` would else write to the index: https://git-scm.com/docs/git-status#_background_refresh
        os.environ["GIT_OPTIONAL_LOCKS"] = "0"
        made: dict[str, Callable[..., Any]] = {
            "system": self.system,
            "_exit": self.leave,
            "kill": self.kill,
            "killpg": self.killpg,
            "abort": self.abort,
            "chroot": self.confine,
            "unshare": self.confine,
            "setns": self.confine,
            "setsid": self.stay,
            "setpgrp": self.stay,
            "setpgid": self.stay,
        }
        pairs: list[tuple[Any, Callable[..., Any]]] = []
        for name, replacement in made.items():
            if name in real.functions:
                setattr(os, name, replacement)
                pairs.append((real.functions[name], replacement))
        if real.send_signal is not None:
            pairs.append((real.send_signal, self._to_descriptor))
            signal.pidfd_send_signal = self._to_descriptor
        return pairs

    # --- leaving ---

    def leave(self, status: int) -> None:
        """`os._exit`, told first."""
        self._tell("ended", how="exit", status=status)
        real.functions["_exit"](status)

    def abort(self) -> None:
        """`os.abort`, told first."""
        self._tell("ended", how="exit", status=-signal.SIGABRT)
        real.functions["abort"]()

    # --- other processes ---

    def kill(self, pid: int, number: int) -> None:
        """`os.kill`: a signal to nobody but the script itself."""
        self._must_be_own(pid, number)
        real.functions["kill"](pid, number)

    def killpg(self, group: int, number: int) -> None:
        """`os.killpg`: refused, as the group is shared with the probe."""
        self._signalled(group, number)

    def confine(self, *_: Any) -> None:
        """`os.chroot` and its like: what the guard names would lie elsewhere."""
        msg = "changing the root or namespace"
        raise self._refusals.refuse(msg)

    def stay(self, *_: Any) -> None:
        """`os.setsid` and its like, without effect: the probe ends the process group."""
        self._refusals.note("leaving the process group")

    def system(self, command: Any) -> int:
        """`os.system`: plain file commands are done in the overlay, others that only read are run, the rest is refused.

        Returns the status that the shell would give, 1 for what is refused.
        """
        line = os.fsdecode(command)
        words = _plain(line)
        if words and words[0] in HARMLESS:
            return 0
        if words and words[0] in FILE_COMMANDS:
            try:
                return FILE_COMMANDS[words[0]](words[1:])
            except OSError as error:
                print(f"{words[0]}: {error}", file=sys.stderr)  # noqa: T201
                return 1 << 8
        if words and only_reads(words):
            with real.inside():
                return int(real.functions["system"](command))
        self._refusals.note(f"the command `{line}`")
        return 1 << 8

    # --- events ---

    def _must_be_own(self, pid: int, number: int) -> None:
        if number and pid != OWN():
            msg = f"a signal to process {pid}"
            raise self._refusals.refuse(msg)

    def _signalled(self, group: int, number: int) -> None:
        msg = f"signal {number} to process group {group}"
        raise self._refusals.refuse(msg)

    def _to_descriptor(self, descriptor: int, *_: Any) -> None:
        msg = f"a signal through descriptor {descriptor}"
        raise self._refusals.refuse(msg)

    def _popen(self, executable: Any, arguments: Any, *_: Any) -> None:
        words = (
            [os.fsdecode(word) for word in arguments]
            if isinstance(arguments, (list, tuple))
            else [os.fsdecode(arguments)]
        )
        spelled = shlex.join(words)
        if len(words) == 3 and words[1] == "-c" and os.path.basename(words[0]) in {"sh", "bash"}:  # noqa: PLR2004
            spelled = words[2]
            words = _plain(words[2])
        elif executable is not None and words:
            words[0] = os.fsdecode(executable)
        if not words or not (only_reads(words) or TRACKER in spelled):
            msg = f"the command `{spelled}`"
            raise self._refusals.refuse(msg)

    def _raw_system(self, command: Any) -> None:
        msg = f"the command `{os.fsdecode(command)}`"
        raise self._refusals.refuse(msg)

    def _exec(self, path: Any, *_: Any) -> None:
        msg = f"the command `{path}`"
        raise self._refusals.refuse(msg)

    def _spawn(self, _mode: int, path: Any, *_: Any) -> None:
        msg = f"the command `{path}`"
        raise self._refusals.refuse(msg)

    def _fork(self) -> None:
        msg = "forking the process"
        raise self._refusals.refuse(msg)


def only_reads(words: list[str]) -> bool:
    """Whether the command is one of `READS`, and that of the system rather than a file of the project with its name."""
    folder, name = os.path.split(words[0])
    if name not in READS or (folder and os.path.realpath(words[0]) != os.path.realpath(_found(name))):
        return False
    if name == "nvidia-smi":
        return all(word.startswith(QUERIES) for word in words[1:] if word.startswith("-"))
    asked = READS[name]
    options = iter(words[1:])
    first = next(options, "")
    while name == "git" and first == "-C":
        next(options, None)
        first = next(options, "")
    return asked is None or first in asked


def _found(name: str) -> str:
    """Where the system has a command."""
    with real.inside():
        return shutil.which(name, path=os.pathsep.join((PATH, os.defpath))) or ""


def _plain(line: str) -> list[str]:
    """The words of a command that needs no shell but for quotes and patterns; none where it does."""
    try:
        return [] if SHELL & set(line) else shlex.split(line)
    except ValueError:
        return []


def _operands(words: Iterable[str]) -> tuple[set[str], list[str]]:
    options: set[str] = set()
    paths: list[str] = []
    for word in words:
        if word.startswith("-"):
            options |= set(word.lstrip("-"))
        else:
            paths += (sorted(glob.glob(word)) or [word]) if any(letter in word for letter in "*?[") else [word]
    return options, paths


def _mkdir(words: list[str]) -> int:
    options, paths = _operands(words)
    for path in paths:
        os.makedirs(path, exist_ok=True) if "p" in options else os.mkdir(path)
    return 0


def _rm(words: list[str]) -> int:
    options, paths = _operands(words)
    for path in paths:
        if os.path.isdir(path) and options & {"r", "R"}:
            shutil.rmtree(path)
        elif os.path.lexists(path) or "f" not in options:
            os.remove(path)
    return 0


def _cp(words: list[str]) -> int:
    _, (*sources, target) = _operands(words)
    for source in sources:
        if os.path.isdir(source):
            shutil.copytree(source, os.path.join(target, os.path.basename(source)) if os.path.isdir(target) else target)
        else:
            shutil.copy(source, target)
    return 0


def _mv(words: list[str]) -> int:
    _, (*sources, target) = _operands(words)
    for source in sources:
        shutil.move(source, target)
    return 0


def _touch(words: list[str]) -> int:
    for path in _operands(words)[1]:
        with open(path, "ab"):
            pass
    return 0


FILE_COMMANDS: dict[str, Callable[[list[str]], int]] = {
    "mkdir": _mkdir,
    "rm": _rm,
    "cp": _cp,
    "mv": _mv,
    "touch": _touch,
}
