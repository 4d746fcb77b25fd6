"""Mixed precision: where the user's code enters and leaves `torch.autocast`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..watch import Watch

SITE = "_torch_doctor_site"  # set on each autocast that the user's code makes: where that was
OWN = ("/torch/amp/", "/torch/cuda/amp/", "/torch/cpu/amp/")


class Watcher:
    """Wraps making, entering and leaving; what other libraries make is entered without an event."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._recorder = watch.recorder
        self._entered: list[int | None] = []

    def install(self) -> None:
        """Puts the wrappers in place."""
        autocast = self._watch.torch.amp.autocast_mode.autocast
        replace = self._watch.patches.replace
        replace(autocast, "__init__", self._making)
        replace(autocast, "__enter__", self._entering)
        replace(autocast, "__exit__", self._leaving)

    @property
    def current(self) -> int | None:
        """The number of the event with which the autocast began that holds now; None where there is none."""
        return self._entered[-1] if self._entered else None

    def _making(self, original: Any) -> Any:
        recorder, is_users = self._recorder, self._recorder.sites.is_users

        def made(autocast: Any, *arguments: Any, **keywords: Any) -> None:
            original(autocast, *arguments, **keywords)
            caller = sys._getframe(1)
            while caller.f_back is not None and any(part in caller.f_code.co_filename for part in OWN):
                caller = caller.f_back
            if not recorder.quiet and is_users(caller.f_code.co_filename):
                here = recorder.safely(recorder.here)
                if here is not None and here.frame is not None:
                    setattr(autocast, SITE, here.site)

        return made

    def _entering(self, original: Any) -> Any:
        recorder = self._recorder

        def entered(autocast: Any) -> Any:
            result = original(autocast)
            site = getattr(autocast, SITE, None)
            told = site is not None and not recorder.quiet and not recorder.rests()
            self._entered.append(recorder.safely(self._told, autocast, site) if told else None)
            return result

        return entered

    def _told(self, autocast: Any, site: int) -> int | None:
        recorder = self._recorder
        here = recorder.here()
        if here.frame is None:
            return None
        running = self._watch.forwards.running
        return recorder.event(
            "AutocastEntered",
            here,
            site=site,
            device=str(autocast.device),
            dtype=str(autocast.fast_dtype).removeprefix("torch."),
            enabled=bool(autocast._enabled),
            within=recorder.references.number(running) if recorder.inside else 0,
        )

    def _leaving(self, original: Any) -> Any:
        recorder = self._recorder

        def left(autocast: Any, *error: Any) -> Any:
            number = self._entered.pop() if self._entered else None
            if number is not None and not recorder.quiet and not recorder.rests():
                recorder.safely(self._over)
            return original(autocast, *error)

        return left

    def _over(self) -> None:
        here = self._recorder.here()
        if here.frame is not None:
            self._recorder.event("AutocastExited", here)
