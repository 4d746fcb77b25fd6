"""Imports torch and the agent once, and forks a process for every run, so that many scripts are run in little time.

`server.py SOCKET AGENT`: listens on the socket until it is told to end.
"""

import contextlib
import ctypes
import gc
import importlib
import inspect
import marshal
import os
import platform
import resource
import runpy
import selectors
import signal
import socket
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
import torch._dynamo  # what the first optimizer imports

with contextlib.suppress(ImportError):  # torch 2.4 has none
    import torch.profiler._cupti_monitor  # what the first backward pass imports

CLONE = {"x86_64": 56, "aarch64": 220}  # the number of the call
CLONE_PARENT = 0x8000
DEATH_OF_PARENT = 1  # PR_SET_PDEATHSIG
COLLAPSE = 25  # MADV_COLLAPSE, since Linux 6.1
LARGE = 2 << 20


@dataclass(eq=False)
class Child:
    """A run under way: its process, what tells when it ends, and who waits for it."""

    number: int
    ended: int
    connection: socket.socket


class Farm:
    """Forks a process for every connection.

    It is a child of whoever started the farm, who is told its number; or, where a client waits, one of the farm's own, which
    ends when the client hangs up.
    """

    def __init__(self, listener: socket.socket, agent: ModuleType) -> None:
        self._listener = listener
        self._agent = agent
        self._selector = selectors.DefaultSelector()
        self._selector.register(listener, selectors.EVENT_READ)

    def serve(self) -> None:
        """Go on until somebody ends this process."""
        while True:
            for key, _ in self._selector.select():
                child = key.data
                if child is None:
                    self._begin()
                elif key.fd == child.ended:
                    self._tell(child)
                elif child.connection.fileno() >= 0:  # else it was told just now
                    self._selector.unregister(child.connection)
                    _kill(child.number)

    def _begin(self) -> None:
        connection, _ = self._listener.accept()
        size, descriptors, _, _ = socket.recv_fds(connection, 4, 3)
        waits, *request = marshal.loads(connection.recv(int.from_bytes(size, "big"), socket.MSG_WAITALL))  # noqa: S302 - our own
        number = os.fork() if waits else forked_for_parent()
        if number == 0:
            for key in list(self._selector.get_map().values()):
                os.close(key.fd)
            connection.close()
            run(self._agent, *request, *descriptors)
        for descriptor in descriptors:
            os.close(descriptor)
        if not waits:
            connection.sendall(str(number).encode())
            connection.close()
            return
        child = Child(number, os.pidfd_open(number), connection)
        self._selector.register(child.ended, selectors.EVENT_READ, child)
        self._selector.register(connection, selectors.EVENT_READ, child)

    def _tell(self, child: Child) -> None:
        _, status = os.waitpid(child.number, 0)
        with contextlib.suppress(OSError):
            child.connection.sendall(str(os.waitstatus_to_exitcode(status)).encode())
        self._selector.unregister(child.ended)
        with contextlib.suppress(KeyError):  # the client hung up before
            self._selector.unregister(child.connection)
        os.close(child.ended)
        child.connection.close()


def forked_for_parent() -> int:
    """As `os.fork`, but the new process is a child of our own parent, which can wait for it as for those it starts."""
    python = ctypes.pythonapi
    python.PyOS_BeforeFork()
    number: int = ctypes.PyDLL(None).syscall(CLONE[platform.machine()], CLONE_PARENT | signal.SIGCHLD, 0, 0, 0, 0)
    if number == 0:
        python.PyOS_AfterFork_Child()
        ctypes.CDLL(None).prctl(DEATH_OF_PARENT, signal.SIGKILL)
    else:
        python.PyOS_AfterFork_Parent()
    if number < 0:
        message = "no process can be forked"
        raise OSError(message)
    return number


def _kill(number: int) -> None:
    """End a child that has perhaps not come to lead its own session, and whoever is in that."""
    os.kill(number, signal.SIGKILL)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(number, signal.SIGKILL)


def run(
    agent: ModuleType, arguments: list[str], environment: dict[str, str], folder: str, says: int, out: int, err: int
) -> None:
    """What the new process does: it becomes what `python AGENT ARGUMENTS` is, with torch and the agent imported."""
    os.setsid()
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(out, 1)
    os.dup2(err, 2)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    if "--fd" in arguments:
        arguments[arguments.index("--fd") + 1] = str(says)
    sys.argv = [str(agent.__file__), *arguments]
    sys.dont_write_bytecode = True
    status = agent.main(arguments) if "--plan" in arguments else _of_script(*arguments)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)  # an interpreter with torch in it takes long to put away


def _of_script(path: str) -> int:
    """What `python PATH` does: nobody watches the script."""
    sys.argv = [path]
    sys.path[0] = str(Path(path).parent)
    runpy.run_path(path, run_name="__main__")
    return 0


def loaded(folder: str) -> Any:
    """The agent's module that starts the script, with all parts of the agent imported."""
    start = runpy.run_path(f"{folder}/__main__.py", run_name="_agent_start")["load"]()
    discovery, guard, instruments, stand_ins, watching = (
        importlib.import_module(f".{name}", start.__package__)
        for name in ("discovery", "guard", "instruments", "stand_ins", "watching")
    )
    discovery.modules(guard)
    discovery.modules(instruments)
    stand_ins.stand_ins()
    watching.watchers()
    holding = _holding(guard.real)
    guard.captured.loaded = lambda: holding
    return start


def _holding(real: Any) -> list[tuple[str, ModuleType]]:
    """The modules that name a function which the guard may replace; it keeps all of these, as they were.

    The guard looks at every name of every loaded module, and in a fork that copies the pages of all of torch; the modules
    where it finds something are the same in every fork.
    """
    kept = {id(value) for value in (*vars(real).values(), *real.functions.values()) if inspect.isroutine(value)}
    return [
        (name, module)
        for name, module in list(sys.modules.items())
        if any(id(value) in kept for value in vars(module).values())
    ]


def use_large_pages() -> None:
    """Move what is written to into large pages, where the kernel can: a fork copies an entry for each page, and drops it."""
    kernel = ctypes.CDLL(None)
    for line in Path("/proc/self/maps").read_text(encoding="utf-8").splitlines():
        place, rights, _, _, _, *name = line.split()
        first, end = (int(each, 16) for each in place.split("-"))
        if rights == "rw-p" and name in ([], ["[heap]"]) and end - first >= LARGE:
            kernel.madvise(ctypes.c_void_p(first), ctypes.c_size_t(end - first), COLLAPSE)


def main() -> None:
    """Listen where we are told to."""
    path, folder = sys.argv[1:]
    agent = loaded(folder)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    gc.collect()
    gc.freeze()  # no collection in a fork walks through torch's objects, and copies the pages they lie in
    use_large_pages()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen(64)
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        Farm(listener, agent).serve()


assert torch.__version__
main()
