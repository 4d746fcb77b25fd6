"""A checkup that is wanted of a script, and what its run says of it."""

from __future__ import annotations

import contextlib
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from torch_doctor.probe.protocol import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from torch_doctor.trace import Trace


@dataclass(slots=True)
class Climb:
    """A checkup that is wanted, and what came of it.

    `rungs` are the names of those that are wanted, `seconds` what the run may take, `alone` that no run of the probe comes
    before it, `every` that rungs are climbed also where a failed one makes them meaningless, `samples` that the data itself is
    shown, `examples` how many samples of a batch are to be memorized (0: all). `begun` hears the name of each rung as it
    begins, `told` what the agent says of each when it is done: `records` has all of that. `shown` is what the path of a file
    is called in a report. `device` is what the script ran on, `ending` says how the run ended where that was not the script's
    end, `error` is the exception that ended it before its first update, in words, and `own` whether it fails like that without
    the checkup, too; empty where none did. `interface` is what the interface expects that this error is about. `output` is what
    the script printed, and `trace` is what the probe saw before, with which `python`. `logs` are what the script says while it
    trains: how, where, what.
    """

    rungs: Sequence[str]
    seconds: float
    alone: bool = False
    every: bool = False
    samples: bool = True
    examples: int = 0
    begun: Callable[[str], None] = lambda _: None
    told: Callable[[dict[str, Any]], None] = lambda _: None
    shown: Callable[[str], str] = str
    records: list[dict[str, Any]] = field(default_factory=list)
    device: str = ""
    ending: str = ""
    stopped: bool = False
    error: str = ""
    own: bool = False
    interface: str = ""
    trace: Trace | None = None
    python: str = ""
    logs: list[tuple[str, str, str]] = field(default_factory=list)
    output: str = ""

    def take(self, line: bytes) -> None:
        """Takes a line that the agent wrote."""
        with contextlib.suppress(ValueError, KeyError, TypeError, RecursionError):
            record = json.loads(line)
            if record["t"] == "climbing":
                self.begun(str(record["rung"]))
            elif record["t"] == "stopped":
                self.stopped = True
            elif record["t"] == "logs":
                self.logs.append((str(record["how"]), str(record["where"]), str(_plain(record["text"]))))
            elif record["t"] == "rung":
                del record["t"]
                record = _plain(record)
                self.records.append(record)
                self.told(record)


def _plain(value: Any) -> Any:  # noqa: ANN401 - JSON
    """The same with nothing in it that moves the cursor of a terminal."""
    if isinstance(value, str):
        return value if value.isprintable() else printable(value, "\n")
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, list) else value
