"""Stands where the agent's folder does: has the farm fork a process that runs the agent, and ends as that one ends."""

import json
import os
import signal
import socket
import sys
from pathlib import Path

connection = socket.socket(socket.AF_UNIX)
connection.connect(os.environ["TORCH_DOCTOR_FARM"])
request = {"arguments": sys.argv[1:], "environment": dict(os.environ), "folder": str(Path.cwd())}
named = sys.argv[sys.argv.index("--fd") + 1] if "--fd" in sys.argv else ""  # one of several opens its pipe by its path
descriptor = int(named) if named else os.open(os.devnull, os.O_WRONLY)
data = json.dumps(request).encode()
socket.send_fds(connection, [len(data).to_bytes(4, "big")], [descriptor, 1, 2])
connection.sendall(data)
os.close(descriptor)
os.closerange(1, 3)
status = int(connection.recv(16) or b"-9")
if status < 0:
    signal.signal(-status, signal.SIG_DFL) if -status not in (signal.SIGKILL, signal.SIGSTOP) else None
    os.kill(os.getpid(), -status)
os._exit(status)
