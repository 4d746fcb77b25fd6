"""Imports torch and the agent once, and forks a process for every run, so that many scripts are run in little time.

`server.py SOCKET AGENT`: listens on the socket until it is told to end.
"""

import contextlib
import gc
import importlib
import inspect
import marshal
import os
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
import torch.profiler._cupti_monitor  # what the first backward pass imports


@dataclass(eq=False)
class Child:
    """A run under way: its process, what tells when it ends, and who waits for it."""

    number: int
    ended: int
    connection: socket.socket


class Farm:
    """Forks a child for every connection, and ends the child whose client hangs up."""

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
        data = connection.recv(int.from_bytes(size, "big"), socket.MSG_WAITALL)
        number = os.fork()
        if number == 0:
            for key in list(self._selector.get_map().values()):
                os.close(key.fd)
            connection.close()
            run(self._agent, *marshal.loads(data), *descriptors)  # noqa: S302 - from our own client
        for descriptor in descriptors:
            os.close(descriptor)
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


def main() -> None:
    """Listen where we are told to."""
    path, folder = sys.argv[1:]
    agent = loaded(folder)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    gc.freeze()  # no collection in a fork walks through torch's objects, and copies the pages they lie in
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen(64)
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        Farm(listener, agent).serve()


assert torch.__version__
main()
