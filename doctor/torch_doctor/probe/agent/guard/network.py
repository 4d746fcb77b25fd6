"""Refuses connections: only sockets within this machine's processes (`AF_UNIX`) are left, and nobody answers at the others."""

from __future__ import annotations

import errno
import os
import socket
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from .refusal import Refusals

LOCAL = frozenset({"", "localhost", "127.0.0.1", "::1", "0.0.0.0", "::"})  # noqa: S104


FAMILIES = {-1, *(getattr(socket, name) for name in ("AF_UNIX", "AF_INET", "AF_INET6") if hasattr(socket, name))}


class Network:
    """What the audit of sockets asks, by event."""

    def __init__(self, refusals: Refusals, is_free: Callable[[str], bool]) -> None:
        self._refusals = refusals
        self._is_free = is_free
        self.events: dict[str, Callable[..., None]] = {
            "socket.__new__": self._made,
            "socket.connect": self._connect,
            "socket.sendto": self._connect,
            "socket.sendmsg": self._connect,
            "socket.getaddrinfo": self._resolve,
            "socket.gethostbyname": self._resolve,
            "socket.gethostbyaddr": self._resolve,
        }

    def install(self) -> None:
        """Has nobody be heard: binding alone is how scripts look for a free port, and harms nobody."""
        own: Any = socket.socket
        listen, connect, connect_ex = own.listen, own.connect, own.connect_ex
        local, refusals = getattr(socket, "AF_UNIX", None), self._refusals

        def listening(sock: socket.socket, *arguments: Any) -> None:
            if sock.family == local:
                listen(sock, *arguments)
            else:
                refusals.note(f"listening at {_spelled(sock.getsockname())}")

        def connecting(sock: socket.socket, address: Any) -> None:
            status = self._without_answer(sock, address)
            if status is None:
                connect(sock, address)
            elif status:
                raise ConnectionRefusedError(status, os.strerror(status))

        def connecting_ex(sock: socket.socket, address: Any) -> int:
            status = self._without_answer(sock, address)
            return int(connect_ex(sock, address)) if status is None else status

        own.listen, own.connect, own.connect_ex = listening, connecting, connecting_ex

    def _without_answer(self, sock: socket.socket, address: Any) -> int | None:
        """The error number of a connection to this machine, where the probe lets no service be used; None of any other.

        0 of a socket that sends datagrams: connecting it sends nothing, and only tells which address it has.
        """
        if sock.family == getattr(socket, "AF_UNIX", None) or not isinstance(address, tuple):
            return None
        here = str(address[0]) in LOCAL or str(address[0]).startswith("127.")
        silent = sock.type == socket.SOCK_DGRAM
        if not here and not silent:
            return None
        self._refusals.note(f"a connection to {_spelled(address)}")
        return 0 if silent else errno.ECONNREFUSED

    def _made(self, _: Any, family: int, kind: int, *__: Any) -> None:
        if family not in FAMILIES or kind & 0xF == getattr(socket, "SOCK_RAW", -1):
            msg = "a raw socket"
            raise self._refusals.refuse(msg)

    def _connect(self, sock: socket.socket, address: Any = None, *_: Any) -> None:
        if sock.family != getattr(socket, "AF_UNIX", None) or self._is_outside(address):
            msg = f"a connection to {_spelled(address)}"
            raise self._refusals.refuse(msg)

    def _is_outside(self, address: Any) -> bool:
        """Whether a socket lies in the file system and not in the scratch folder: a service of the machine listens there."""
        path = os.fsdecode(address) if isinstance(address, (str, bytes)) else ""
        return path[:1] not in {"", "\0"} and not self._is_free(os.path.realpath(path))

    def _resolve(self, host: Any, *_: Any) -> None:
        name = host.decode(errors="replace") if isinstance(host, bytes) else host
        if name is not None and name not in LOCAL and name != socket.gethostname():
            msg = f"a connection to {name}"
            raise self._refusals.refuse(msg)


def _spelled(address: Any) -> str:
    if isinstance(address, tuple) and len(address) > 1:
        return f"{address[0] or 'any address'}:{address[1]}"
    return str(address)
