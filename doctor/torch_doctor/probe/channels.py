"""Where the agents of a run write what they saw: a pipe that the first inherits, and one for every process it starts."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from torch_doctor.probe.agent.packets import Unpacker, key_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path
    from typing import Any

FOLDER = "channels"  # in the scratch folder; the pipe of a process is called like its rank
MOST_SAID = 128 << 20  # bytes of protocol


@dataclass(slots=True)
class Channel:
    """The end at which we read; `says` is the other one, which the agent inherits or opens itself.

    What somebody else writes there is left out, and counted by the `unpacker`.
    """

    hears: int
    says: int
    unpacker: Unpacker
    said: bytearray = field(default_factory=bytearray)
    told: int = 0

    def hear(self, data: bytes) -> None:
        """Takes some more."""
        data = self.unpacker.take(data)
        if len(self.said) < MOST_SAID:
            self.said += data

    @property
    def fault(self) -> str:
        """Why what comes from now on is not known: "torn", "much" or nothing."""
        return "torn" if self.unpacker.torn else "much" * (len(self.said) >= MOST_SAID)

    def news(self) -> bytes:
        """What came since the last time that somebody asked."""
        new = bytes(self.said[self.told :])
        self.told = len(self.said)
        return new

    def lines(self) -> list[bytes]:
        """The lines so far, without one that was cut off."""
        return bytes(self.said).split(b"\n")[:-1]


@dataclass(frozen=True, slots=True)
class Channels:
    """`first` is of the process that we start; `ranks` of the processes of a distributed run, which that one starts."""

    first: Channel
    ranks: tuple[Channel, ...] = ()

    def all(self) -> tuple[Channel, ...]:
        """All of them."""
        return (self.first, *self.ranks)

    def started(self) -> None:
        """The first process has its end now: ours is closed, so that we hear when it ends.

        Processes that it starts inherit nothing: they open their pipe by its path, and before they do its other end must
        be open here.
        """
        os.close(self.first.says)
        self.first.says = -1

    def close(self) -> None:
        """Closes our ends."""
        for channel in self.all():
            os.close(channel.hears)
            if channel.says >= 0:
                os.close(channel.says)


@contextlib.contextmanager
def opened(scratch: Path, plan: Mapping[str, Any]) -> Iterator[Channels]:
    """The channels that a plan needs; named pipes lie in the scratch folder."""
    count = processes(plan)
    paths = [scratch / FOLDER / str(rank) for rank in range(count)] if count > 1 else []
    for path in paths:
        path.parent.mkdir(exist_ok=True)
        os.mkfifo(path, 0o600)
    secret = plan.get("secret", "")
    ranks = [
        Channel(
            os.open(path, os.O_RDONLY | os.O_NONBLOCK), os.open(path, os.O_WRONLY), Unpacker(key_of(secret, path.name))
        )
        for path in paths
    ]
    with contextlib.closing(Channels(Channel(*os.pipe(), Unpacker(key_of(secret))), tuple(ranks))) as channels:
        for channel in channels.all():
            os.set_blocking(channel.hears, False)
        yield channels


def processes(plan: Mapping[str, Any]) -> int:
    """How many processes run the script."""
    return int(plan.get("processes") or 1)
