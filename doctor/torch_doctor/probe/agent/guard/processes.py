"""Refuses other processes, but for a few commands that only read; what others do to files is done in the overlay."""

from __future__ import annotations

import contextlib
import functools
import inspect
import os
import shlex
import shutil
import signal
import sys
import threading
from typing import TYPE_CHECKING, Any

from ..handed import hand_anything
from ..imports import after
from . import real
from .commands import MOST, Commands, lines_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from .refusal import Refusals, RefusedError

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
ASKS_GIT: dict[str, frozenset[str]] = {
    "config": frozenset({"--get", "--get-all", "--list", "-l"}),
    "branch": frozenset({"", "--show-current", "-v", "-vv", "-a", "-r", "--list"}),
    "remote": frozenset({"", "-v", "get-url"}),
}
"""Commands of git that read if this comes next."""
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
OWN = os.getpid  # the script may replace it
NOBODY = 1 << 23  # the number of no process: https://man7.org/linux/man-pages/man5/proc_sys_kernel.5.html
TRACKER = "from multiprocessing.resource_tracker import main"


class ProcessGuard:
    """What the audit of processes asks, and the replacements for what no event tells of."""

    def __init__(self, refusals: Refusals, tell: Callable[..., None]) -> None:
        self._refusals = refusals
        self._tell = tell
        self._commands = Commands()
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
        if os.name == "posix":
            after("subprocess", self._answering)
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

    def _answering(self, module: ModuleType) -> None:
        """Has commands that are known be answered where `subprocess` would start them."""
        process: Any = vars(module)["Popen"]
        process._execute_child = self._executing(process._execute_child)

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
        """`os.system`: commands that are known are answered, others that only read are run, the rest is refused.

        Returns the status that the shell would give, 1 for what is refused.
        """
        line = os.fsdecode(command)
        answer = self._commands.line(line)
        if answer is not None:
            sys.stdout.write(answer.text)
            return answer.status << 8
        words = _plain(line)
        if words and only_reads(words):
            with real.inside():
                return int(real.functions["system"](command))
        self._command(line)
        return 1 << 8

    def _executing(self, execute: Callable[..., None]) -> Callable[..., None]:
        """What starts the process of a `subprocess.Popen`: one whose command is answered has ended already."""
        signature = inspect.signature(execute)

        @functools.wraps(execute)
        def executed(process: Any, *arguments: Any, **keywords: Any) -> None:
            given = signature.bind(process, *arguments, **keywords).arguments
            answer = None
            if not real.is_inside() and given["executable"] is None:
                answer = self._commands.answer(given["args"], shell=given["shell"], folder=given["cwd"])
            if answer is None:
                execute(process, *arguments, **keywords)
                return
            process.pid, process._child_created, process.returncode = NOBODY, True, answer.status
            if given["c2pwrite"] == -1:
                sys.stdout.write(answer.text)
            else:
                _print_into(given["c2pwrite"], answer.text.encode())
            _close_pipes(process, given)

        return executed

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
            raise self._command(spelled)

    def _command(self, line: str) -> RefusedError:
        """Returns what is raised for a command, which might have made any folder."""
        hand_anything()
        return self._refusals.refuse(f"the command `{line}`")

    def _raw_system(self, command: Any) -> None:
        raise self._command(os.fsdecode(command))

    def _exec(self, path: Any, *_: Any) -> None:
        raise self._command(str(path))

    def _spawn(self, _mode: int, path: Any, *_: Any) -> None:
        raise self._command(str(path))

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
    if name == "git" and first in ASKS_GIT:
        return next(options, "") in ASKS_GIT[first]
    return asked is None or first in asked


def _found(name: str) -> str:
    """Where the system has a command."""
    with real.inside():
        return shutil.which(name, path=os.pathsep.join((PATH, os.defpath))) or ""


def _plain(line: str) -> list[str]:
    """The words of a command line that is a single command; none where it is anything else."""
    pipelines = lines_of(line) or []
    simple = pipelines[0][1][0] if len(pipelines) == 1 and len(pipelines[0][1]) == 1 else None
    return simple.words if simple is not None and not simple.into else []


def _print_into(descriptor: int, text: bytes) -> None:
    """Write what a command prints; what is more than a pipe holds, while the script reads it."""
    if len(text) <= MOST:
        os.write(descriptor, text)
        return
    file = os.fdopen(os.dup(descriptor), "wb")

    def go_on() -> None:
        with contextlib.suppress(OSError), file:
            file.write(text)

    threading.Thread(target=go_on, daemon=True).start()


def _close_pipes(process: Any, given: dict[str, Any]) -> None:
    """Close the ends of the pipes that a child would have, as `subprocess` does once it has started one."""
    null = getattr(process, "_devnull", None)
    for own, other in (("p2cread", "p2cwrite"), ("c2pwrite", "c2pread"), ("errwrite", "errread")):
        if given[own] != -1 and given[other] != -1 and given[own] != null:
            os.close(given[own])
    if null is not None:
        os.close(null)
    process._closed_child_pipe_fds = True
