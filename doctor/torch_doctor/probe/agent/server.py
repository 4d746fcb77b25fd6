"""Imports torch and the agent once, and forks a process for every run that is asked for over a socket.

No thread may exist when it forks: what other threads hold stays locked in the child. It ends when nobody asked for anything
for a while.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import inspect
import marshal
import os
import selectors
import signal
import socket
import sys
import threading
import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from . import process

if TYPE_CHECKING:
    from collections.abc import Callable

    Main = Callable[[list[str]], int]

THREADS = "OMP_NUM_THREADS"
WAITING = 64
FAILED = 70  # EX_SOFTWARE


@dataclass(eq=False)
class ServedRun:
    """A run under way: its process, what tells when it ends, and who waits for it."""

    number: int
    ended: int
    connection: socket.socket


class Server:
    """Forks a child for every connection, and ends the child whose client hangs up.

    A client is told the number of its process, and later the exit status. The process is not reaped before the client hangs
    up, so that the number stays its own.
    """

    def __init__(self, listener: socket.socket, main: Main, idle: float) -> None:
        self._listener = listener
        self._main = main
        self._idle = idle
        self._children: set[int] = set()
        self._selector = selectors.DefaultSelector()
        self._selector.register(listener, selectors.EVENT_READ)

    def serve(self) -> None:
        """Goes on until nobody asked for anything for a while, and no run is under way."""
        while True:
            ready = self._selector.select(self._idle or None)
            if not ready and not self._children:
                return
            for key, _ in ready:
                child: ServedRun | None = key.data
                if child is None:
                    with contextlib.suppress(OSError, ValueError, EOFError, TypeError):  # a client that is none
                        self._begin()
                elif child.number not in self._children:  # its client hung up at the moment when it ended
                    continue
                elif key.fd == child.ended:
                    self._tell(child)
                else:
                    self._forget(child)

    def _begin(self) -> None:
        connection, _ = self._listener.accept()
        size, descriptors, _, _ = socket.recv_fds(connection, 4, 3)
        try:
            data = connection.recv(int.from_bytes(size, "big"), socket.MSG_WAITALL)
            request = marshal.loads(data)  # noqa: S302 - from a client of the same user
            number = os.fork()
            if number == 0:
                for key in list(self._selector.get_map().values()):
                    os.close(key.fd)
                connection.close()
                try:
                    become(self._main, *request, *descriptors)
                finally:  # whatever happens, there is one server
                    process.leave(FAILED)
        finally:
            for descriptor in descriptors:
                os.close(descriptor)
        connection.sendall(b"%d\n" % number)
        child = ServedRun(number, os.pidfd_open(number), connection)
        self._children.add(number)
        self._selector.register(child.ended, selectors.EVENT_READ, child)
        self._selector.register(connection, selectors.EVENT_READ, child)

    def _tell(self, child: ServedRun) -> None:
        """Tells who waits how the process ended; it keeps its number until they hang up."""
        self._selector.unregister(child.ended)
        ended = os.waitid(os.P_PIDFD, child.ended, os.WEXITED | os.WNOWAIT)
        if ended is not None:
            status = ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status
            with contextlib.suppress(OSError):
                child.connection.sendall(b"%d\n" % status)

    def _forget(self, child: ServedRun) -> None:
        """Ends the run of a client that hung up."""
        self._selector.unregister(child.connection)
        with contextlib.suppress(KeyError):  # it has ended by itself
            self._selector.unregister(child.ended)
        with contextlib.suppress(ProcessLookupError):  # it has perhaps not come to lead its own session
            os.kill(child.number, signal.SIGKILL)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.number, signal.SIGKILL)
        os.waitpid(child.number, 0)
        os.close(child.ended)
        child.connection.close()
        self._children.discard(child.number)
        self._end_orphans()

    def _end_orphans(self) -> None:
        """Ends what runs have started and left: it has become a child of ours."""
        with contextlib.suppress(OSError):
            with open(f"/proc/self/task/{os.getpid()}/children", encoding="ascii") as file:
                ours = {int(number) for number in file.read().split()}
            for number in ours - self._children:
                os.kill(number, signal.SIGKILL)
                os.waitpid(number, 0)


def become(
    main: Main, arguments: list[str], environment: dict[str, str], folder: str, says: int, out: int, err: int
) -> NoReturn:
    """What the new process does: it becomes what `python AGENT ARGUMENTS` is, with torch and the agent imported."""
    os.setsid()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(out, 1)
    os.dup2(err, 2)
    threads = environment.get(THREADS, "")
    if threads.isdecimal() and threads != os.environ.get(THREADS):
        sys.modules["torch"].set_num_threads(max(1, int(threads)))
    for name in os.environ.keys() - environment.keys():
        del os.environ[name]
    os.environ.update(environment.items() - os.environ.items())
    os.chdir(folder)
    if "--fd" in arguments:
        arguments[arguments.index("--fd") + 1] = str(says)
    sys.argv = [sys.argv[0], *arguments]
    sys.dont_write_bytecode = True
    process.prepare()
    process.leave(main(arguments))


def load() -> None:
    """Imports torch, what the first steps of training import, and all parts of the agent."""
    torch = importlib.import_module("torch")
    with contextlib.suppress(ImportError):
        importlib.import_module("torch.profiler._cupti_monitor")  # in the first backward pass
    discovery, guard, instruments, stand_ins, watching = (
        importlib.import_module(f".{name}", __package__)
        for name in ("discovery", "guard", "instruments", "stand_ins", "watching")
    )
    discovery.modules(guard)
    discovery.modules(instruments)
    for kind in stand_ins.stand_ins().values():
        kind.look(torch)
    watching.watchers()
    holding = _holding(guard.real)
    guard.captured.loaded = lambda: holding
    _put_away_nothing()


def _holding(real: Any) -> list[tuple[str, Any, list[str]]]:
    """The modules that name a function which the guard may replace, and the names; it keeps all of these, as they were.

    The guard looks at every name of every loaded module, and in a fork that copies the pages of all of torch; the names
    under which it finds something are the same in every fork.
    """
    kept = {id(value) for value in (*vars(real).values(), *real.functions.values()) if inspect.isroutine(value)}
    found = [
        (name, module, [attribute for attribute, value in vars(module).items() if id(value) in kept])
        for name, module in list(sys.modules.items())
    ]
    return [each for each in found if each[2]]


def _put_away_nothing() -> None:
    """Has no fork finalize, when it ends, what was there before its script: torch would take back each of its operators.

    That writes to all of their pages, which takes as long as a small script.
    """
    registry: dict[weakref.finalize[..., Any], Any] = vars(weakref.finalize)["_registry"]
    for each in list(registry):
        each.atexit = False


def threads() -> int:
    """The threads of this process, those that no Python started included."""
    try:
        return len(os.listdir("/proc/self/task"))
    except OSError:  # not Linux
        return threading.active_count()


def _say(word: str) -> None:
    """Tells who started us, and hangs up."""
    os.write(1, word.encode() + b"\n")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def serve(main: Main, path: str, idle: float) -> int:
    """Runs `main` in a fork for each who asks at a path; the exit status.

    It goes on until nobody asked for anything for so many seconds (0: for ever).
    """
    import fcntl  # not on Windows

    with open(f"{path}.lock", "w", encoding="ascii") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:  # another one serves, or is about to
            _say("busy")
            return 1
        load()
        process.adopt()
        if threads() > 1:
            return 1
        # No collection in a fork walks through torch's objects, and copies the pages they lie in:
        # https://docs.python.org/3/library/gc.html#gc.freeze
        gc.freeze()
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)  # of one that was killed
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(path)
            listener.listen(WAITING)
            try:
                _say("ready")
                Server(listener, main, idle).serve()
            finally:
                os.unlink(path)
    return 0
