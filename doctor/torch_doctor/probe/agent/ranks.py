"""This process among those of a distributed run: they end their loops at the same pass, or their next exchange would hang."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from datetime import timedelta
from time import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import ModuleType

    from .loops import Loop

PATIENCE = 5.0  # seconds that the others wait for the word of the first, at a loop that it may not run at all
ONCE_BITTEN = 0.1  # and at one where it did not come before
DEATH_OF_PARENT = 1  # PR_SET_PDEATHSIG


class Ranks:
    """One of `count` processes, the one with number `rank`; what all do alike is decided by the first."""

    def __init__(self, plan: Mapping[str, Any], *, launched: bool) -> None:
        self.count: int = int(plan.get("processes") or 1) if launched else 1
        self.rank = int(os.environ["RANK"]) if launched else 0
        self._address = (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])) if launched else None
        self._store: Any = None
        self._groups = 0
        self._alone: set[str] = set()

    # --- the launcher ---

    def end_with_launcher(self) -> None:
        """Has the kernel end this process when the one that started it is gone."""
        if self.count > 1 and sys.platform == "linux":
            ctypes.CDLL(None).prctl(DEATH_OF_PARENT, signal.SIGKILL)

    def speak_in_lines(self) -> None:
        """Writes what the script prints a line at a time: several processes share one stream."""
        if self.count > 1:
            for name, number in (("stdout", 1), ("stderr", 2)):
                stream = getattr(sys, name)
                stream.flush()
                made = open(number, "w", 1, stream.encoding, stream.errors, closefd=False)  # noqa: SIM115 - it stays open
                setattr(sys, name, made)
                setattr(sys, f"__{name}__", made)

    def time_left(self, plan: Mapping[str, Any]) -> float:
        """The seconds that are left of the plan's, of which starting took some."""
        seconds = float(plan.get("timeout") or 60.0)
        return max(1.0, seconds - (time() - plan["began"])) if self.count > 1 and plan.get("began") else seconds

    # --- meeting the others ---

    def with_torch(self, torch: ModuleType) -> None:
        """Connects to the launcher's store, over the loopback."""
        if self.count > 1:
            self._store = self._connected(torch)

    def store(self, torch: Any) -> Any:
        """What the next process group of the script meets at; no place that the script names is used."""
        self._groups += 1
        return torch.distributed.PrefixStore(f"torch-doctor/group/{self._groups}", self._connected(torch))

    def _connected(self, torch: Any) -> Any:
        host, port = self._address or ("", 0)
        return torch.distributed.TCPStore(host, port, None, is_master=False, timeout=timedelta(seconds=60))

    def agreed(self, loop: Loop, mine: bool) -> bool:  # noqa: FBT001 - what all of them decide
        """What the first process decides at this pass of a loop; `mine` where it does not come here."""
        if self._store is None:
            return mine
        span = loop.node.span
        place = f"{span.path}:{span.row}:{span.column}:{loop.begun}"
        key = f"torch-doctor/loop/{place}:{loop.number}"
        if self.rank == 0:
            self._store.set(key, "1" if mine else "0")
            return mine
        line = place.rpartition(":")[0]
        patience = ONCE_BITTEN if line in self._alone else PATIENCE
        try:
            self._store.wait([key], timedelta(seconds=patience))
            said = self._store.get(key)
        except RuntimeError:  # it does not come, or is gone
            self._alone.add(line)
            return mine
        return bool(said == b"1")
