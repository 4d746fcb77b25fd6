"""Has the farm fork a process that runs a script, or the agent for one of several processes, and ends as that one ends.

It imports only what the interpreter has built in: `socket` and `json` take longer than the rest.
"""

import _socket
import array
import marshal
import os
import resource
import sys

connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
connection.connect(os.environ["TORCH_DOCTOR_FARM"])
request = marshal.dumps((sys.argv[1:], dict(os.environ), os.getcwd()))  # noqa: PTH109 - pathlib is slow, too
descriptor = os.open(os.devnull, os.O_WRONLY)  # one of several opens its pipe by its path
rights = array.array("i", [descriptor, 1, 2])
connection.sendmsg([len(request).to_bytes(4, "big")], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, rights)])
connection.sendall(request)
os.close(descriptor)
os.closerange(1, 3)
told = b""
while told.count(b"\n") < 2:
    told += connection.recv(64) or b"\n-9\n"
status = int(told.split(b"\n")[1])
if status < 0:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.kill(os.getpid(), -status)
os._exit(status)
