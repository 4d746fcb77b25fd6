"""Environment variables that the script sets and that switch something of torch, from before torch is imported."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .recorder import Recorder

VARIABLES = frozenset({b"CUDA_LAUNCH_BLOCKING"})


def install(recorder: Recorder) -> None:
    """Has `os.putenv`, through which `os.environ` goes too, tell of these variables."""
    original = os.putenv

    def putenv(name: Any, value: Any, /) -> None:
        original(name, value)
        if os.fsencode(name) in VARIABLES and not recorder.quiet:
            recorder.safely(told, os.fsdecode(name), os.fsdecode(value))

    def told(name: str, value: str) -> None:
        recorder.event("SettingSet", recorder.here(), setting=name, name=name, value=value not in ("", "0"))

    os.putenv = putenv
