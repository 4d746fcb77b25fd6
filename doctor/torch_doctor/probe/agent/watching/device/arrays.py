"""Tensors that are made arrays: whether they are on a GPU, or have a graph, and what torch says to it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from ...stand_ins.cuda.devices import needed
from ...stand_ins.cuda.memory import NOT_READABLE
from ...stand_ins.cuda.places import places

if TYPE_CHECKING:
    from ..watch import Watch

TIMES = 4  # reads at one place that are told


class Watcher:
    """Wraps `Tensor.numpy` and `Tensor.__array__`, which NumPy, SciPy and plots call."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._recorder = watch.recorder
        self._told: dict[int, int] = {}
        self._stands_in = needed(watch.torch, watch.recorder.plan)
        self._busy = False

    def install(self) -> None:
        """Puts the wrappers in place."""
        for name in ("numpy", "__array__"):
            self._watch.patches.replace(self._watch.torch.Tensor, name, self._reading(name))

    def _reading(self, name: str) -> Any:
        recorder, tell, is_users = self._recorder, self._tell, self._recorder.sites.is_users

        def asked(name: str) -> bool:
            """Whether the user's own code calls the method, or anybody the function that does."""
            return name == "__array__" or is_users(sys._getframe(2).f_code.co_filename)

        def wrap(original: Any) -> Any:
            def read(tensor: Any, *arguments: Any, **keywords: Any) -> Any:
                if self._busy or recorder.quiet or keywords.get("force") or not asked(name):
                    return original(tensor, *arguments, **keywords)
                self._busy = True
                try:
                    made = original(tensor, *arguments, **keywords)
                except (TypeError, RuntimeError) as error:
                    recorder.safely(tell, tensor, name, str(error))
                    raise
                finally:
                    self._busy = False
                recorder.safely(tell, tensor, name, "")
                return made

            return read

        return wrap

    def _tell(self, tensor: Any, name: str, raised: str) -> None:
        here = self._recorder.here()
        if here.frame is None or self._told.get(here.site, 0) >= TIMES:
            return
        self._told[here.site] = self._told.get(here.site, 0) + 1
        gpu = self._on_gpu(tensor)
        self._recorder.event(
            "ArrayRead",
            here,
            function=name,
            value=self._watch.facts.of(tensor),
            gpu=True if raised == NOT_READABLE else gpu,
            raised=raised or (NOT_READABLE if gpu else ""),
        )

    def _on_gpu(self, tensor: Any) -> bool | None:
        """Whether a tensor is on a GPU, or would be; None where that is not known."""
        if not self._stands_in:
            return bool(tensor.is_cuda)
        place = places.of(tensor) if places.active else None
        return None if place is None else bool(place.gpu)
