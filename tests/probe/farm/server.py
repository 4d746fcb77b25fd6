"""Imports torch once, and forks a process for every run of the agent, so that many scripts are probed in little time.

`server.py SOCKET AGENT`: listens on the socket until it is told to end.
"""

import contextlib
import gc
import json
import os
import runpy
import select
import signal
import socket
import sys
from typing import Any

import torch
import torch._dynamo  # what the first optimizer imports


def main() -> None:
    """Fork for every connection."""
    path, agent = sys.argv[1:]
    gc.freeze()  # no collection in a fork walks through torch's objects, and copies the pages they lie in
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(64)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    while True:
        connection, _ = listener.accept()
        if os.fork() == 0:
            listener.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            supervise(connection, agent)
            return
        connection.close()


def supervise(connection: socket.socket, agent: str) -> None:
    """Run the agent in a child of its own, and end it when nobody waits for it any more."""
    size, descriptors, _, _ = socket.recv_fds(connection, 4, 3)
    data = b""
    while len(data) < int.from_bytes(size, "big"):
        data += connection.recv(1 << 16)
    request = json.loads(data)
    child = os.fork()
    if child == 0:
        connection.close()
        run(request, descriptors, agent)
        return
    for descriptor in descriptors:
        os.close(descriptor)
    ended = os.pidfd_open(child)
    either: list[Any] = [ended, connection]
    select.select(either, [], [])
    if not select.select([ended], [], [], 0)[0]:
        os.killpg(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    with contextlib.suppress(OSError):
        connection.sendall(str(os.waitstatus_to_exitcode(status)).encode())
    os._exit(0)


def run(request: dict[str, Any], descriptors: list[int], agent: str) -> None:
    """What the new process does: it becomes what `python AGENT ARGUMENTS` is, with torch imported."""
    os.setsid()
    protocol, out, err = descriptors
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(out, 1)
    os.dup2(err, 2)
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["folder"])
    arguments = request["arguments"]
    if "--fd" in arguments:
        arguments[arguments.index("--fd") + 1] = str(protocol)
    sys.argv = [agent, *arguments]
    sys.dont_write_bytecode = True
    status = runpy.run_path(f"{agent}/__main__.py", run_name="_agent_start")["load"]().main(arguments)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)  # an interpreter with torch in it takes long to put away


assert torch.__version__
main()
