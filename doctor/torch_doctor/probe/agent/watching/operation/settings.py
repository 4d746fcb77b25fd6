"""Switches of the whole process, and the seeds of random numbers."""

from __future__ import annotations

import random
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..watch import Watch

ANOMALY, PROFILER = "torch.autograd.set_detect_anomaly", "torch.profiler.profile"
ENDS = ("__init__", "__exit__")


class Watcher:
    """Wraps what switches anomaly detection and profilers on and off, and what seeds."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._recorder = watch.recorder

    def install(self) -> None:
        """Puts the wrappers in place."""
        torch, replace = self._watch.torch, self._watch.patches.replace
        anomaly, profiler = torch.autograd.anomaly_mode, torch.autograd.profiler.profile
        for owner, names in ((anomaly.detect_anomaly, ("__enter__", "__exit__")), (anomaly.set_detect_anomaly, ENDS)):
            for name in names:
                replace(owner, name, self._switching(ANOMALY, lambda *_: bool(torch.is_anomaly_enabled())))
        replace(profiler, "__enter__", self._switching(PROFILER, lambda self: bool(getattr(self, "enabled", False))))
        replace(profiler, "__exit__", self._switching(PROFILER, lambda _: False))
        scheduled = torch.profiler.profiler.profile
        replace(scheduled, "start", self._switching(PROFILER, self._always))
        replace(scheduled, "stop", self._switching(PROFILER, lambda _: False))
        for module in (torch, random, sys.modules.get("numpy.random")):
            for name in ("manual_seed", "seed"):
                if module is not None and not (module is torch and name == "seed"):
                    replace(module, name, self._seeding(f"{module.__name__}.{name}"))

    def _always(self, profiler: Any) -> bool | None:
        """Whether a profiler records every step: None where a schedule decides."""
        without = getattr(sys.modules.get("torch.profiler.profiler"), "_default_schedule_fn", None)
        return True if without is not None and getattr(profiler, "schedule", None) is without else None

    def _switching(self, setting: str, value: Callable[[Any], bool | None]) -> Callable[[Any], Any]:
        recorder = self._recorder

        def wrap(original: Any) -> Any:
            def switch(self: Any, *arguments: Any, **keywords: Any) -> Any:
                result = original(self, *arguments, **keywords)
                if not recorder.quiet and not recorder.rests():
                    recorder.safely(told, self)
                return result

            return switch

        def told(switch: Any) -> None:
            here = recorder.here()
            if here.frame is not None:
                recorder.event("SettingSet", here, setting=setting, name=setting, value=value(switch))

        return wrap

    def _seeding(self, function: str) -> Callable[[Any], Any]:
        recorder = self._recorder

        def wrap(original: Any) -> Any:
            def seed(*arguments: Any, **keywords: Any) -> Any:
                if not recorder.quiet and not recorder.rests():
                    recorder.safely(told)
                return original(*arguments, **keywords)

            return seed

        def told() -> None:
            here = recorder.here()
            if here.frame is not None:
                recorder.event("Seeded", here, function=function)

        return wrap
