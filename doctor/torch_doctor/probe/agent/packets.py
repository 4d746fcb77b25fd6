"""Packets, in which the agent's lines travel: numbered, and sealed with a key of the run.

A script can write to every descriptor that it inherits or finds. What it writes there opens no seal and is left out, so that
it neither adds an event nor takes one away.
"""

from __future__ import annotations

import hmac
import select
from hashlib import blake2b

MARK = b"\x1e"  # begins a packet; JSON has no such byte
SEAL = 16  # bytes
LARGEST = getattr(select, "PIPE_BUF", 512)  # what is written to a pipe in one piece, whoever else writes to it
HEAD = 128  # bytes at most, of which the first line of a packet has fewer
NUMBERS = 2  # in the first line: that of the packet, and its length


def key_of(secret: str, rank: int | str = "") -> bytes:
    """The key of a process's packets, from what the run's own processes know."""
    return blake2b(f"{secret} {rank}".encode(), digest_size=32).digest()


class _Seals:
    """Makes the same seals for whoever has the same key, which cannot be read from it."""

    def __init__(self, key: bytes) -> None:
        self._keyed = blake2b(key=key, digest_size=SEAL)

    def of(self, *parts: bytes) -> bytes:
        seal = self._keyed.copy()
        for part in parts:
            seal.update(part)
        return seal.hexdigest().encode()


class Packer:
    """Makes packets of what is to be told, in order."""

    def __init__(self, key: bytes) -> None:
        self._seals = _Seals(key)
        self._number = 0

    def packets(self, data: bytes) -> list[bytes]:
        """As many as it takes for each to be written in one piece."""
        made = []
        room = LARGEST - HEAD
        for start in range(0, len(data), room):
            content = data[start : start + room]
            head = b"%d %d %b" % (self._number, len(content), self._seals.of(content))
            made.append(b"%b%b %b\n%b" % (MARK, head, self._seals.of(head), content))
            self._number += 1
        return made


class Unpacker:
    """Takes what comes out of a pipe, and gives what was sealed, in order.

    `foreign` counts the bytes that were not; `torn` tells that a packet is missing: what comes after it is left out.
    """

    def __init__(self, key: bytes) -> None:
        self._seals = _Seals(key)
        self._held = bytearray()
        self._next = 0
        self.foreign = 0
        self.torn = False

    def take(self, data: bytes) -> bytes:
        """What can be read with some more bytes."""
        self._held += data
        read = bytearray()
        while (start := self._held.find(MARK)) >= 0:
            self._skip(start)
            packet = self._packet()
            if packet is None:
                return bytes(read)
            read += packet
        self._skip(len(self._held))
        return bytes(read)

    def _packet(self) -> bytes | None:
        """What the packet says that begins what is held; nothing where it is none, and None where it is not all there."""
        end = self._held.find(b"\n", 0, HEAD)
        if end < 0 and len(self._held) < HEAD:
            return None
        head, _, seal = bytes(self._held[len(MARK) : max(end, 0)]).rpartition(b" ")
        if not hmac.compare_digest(self._seals.of(head), seal):
            self._skip(len(MARK))
            return b""
        number, length = map(int, head.split()[:NUMBERS])
        whole = end + 1 + length
        if len(self._held) < whole:
            return None
        content = bytes(self._held[end + 1 : whole])
        if not hmac.compare_digest(self._seals.of(content), head.split()[NUMBERS]):
            self._skip(end + 1)  # somebody wrote into the middle of it
            return b""
        del self._held[:whole]
        if number < self._next:  # told again
            self.foreign += whole
            return b""
        self.torn |= number > self._next
        self._next = number + 1
        return b"" if self.torn else content

    def _skip(self, count: int) -> None:
        self.foreign += count
        del self._held[:count]
