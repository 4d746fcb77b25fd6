"""What those who wait for a run hear of it, and how they end it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol


class Stop:
    """Ends all runs that know it: `asked` lets each tell what it saw so far, `at_once` does not wait for that."""

    def __init__(self) -> None:
        self.asked = False
        self.at_once = False

    def ask(self) -> None:
        """Asks the runs to end; a second time: at once."""
        self.asked, self.at_once = True, self.asked

    def now(self) -> None:
        """Ends the runs at once."""
        self.asked = self.at_once = True


class Follower(Protocol):
    """Hears how runs go on; `listens` says whether it wants to know what they are doing."""

    listens: bool

    def doing(self, script: str, activity: str, left: float) -> None:
        """The run of a script is at something, and may take so many seconds more; said again and again, by any thread."""

    def done(self, script: str) -> None:
        """The run of a script is over."""


class Nobody:
    """Hears nothing."""

    listens = False

    def doing(self, script: str, activity: str, left: float) -> None:
        """Nobody listens."""

    def done(self, script: str) -> None:
        """Nobody listens."""


@dataclass(frozen=True, slots=True)
class Attention:
    """Who waits for a run: `follower` hears what the script is at, `stop` says when the run has to end."""

    script: str = ""
    follower: Follower = field(default_factory=Nobody)
    stop: Stop = field(default_factory=Stop)
