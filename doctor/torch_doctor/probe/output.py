"""What a script prints, kept in part where it is much."""

from __future__ import annotations

from dataclasses import dataclass, field

MOST_SHOWN = 256 << 10  # bytes of the script's output, from its beginning and again from its end


@dataclass(slots=True)
class Output:
    """What the script printed: the beginning and the end, where it is much."""

    head: bytearray = field(default_factory=bytearray)
    tail: bytearray = field(default_factory=bytearray)
    left_out: int = 0

    def add(self, data: bytes) -> None:
        """Takes some more."""
        room = MOST_SHOWN - len(self.head)
        self.head += data[:room]
        self.tail += data[room:] if room < len(data) else b""
        if (excess := len(self.tail) - MOST_SHOWN) > MOST_SHOWN:
            del self.tail[:excess]
            self.left_out += excess

    def text(self) -> str:
        """What there is, as text, whatever it was."""
        tail = bytes(self.tail[-MOST_SHOWN:])
        left_out = self.left_out + len(self.tail) - len(tail)
        middle = f"\n[{left_out:,} bytes left out]\n".encode() if left_out else b""
        return (bytes(self.head) + middle + tail).decode("utf-8", "replace")
