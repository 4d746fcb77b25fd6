"""Random numbers: which tensors are noise, and where it was drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..marks import Mark

if TYPE_CHECKING:
    from ..watch import Watch

NOISE = ("randn", "rand", "randn_like", "rand_like", "normal", "bernoulli", "poisson")


class Watcher:
    """Wraps the functions that draw random numbers."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch

    def install(self) -> None:
        """Puts the wrappers in place."""
        for name in NOISE:
            self._watch.patches.replace(self._watch.torch, name, self._drawing(name))

    def _drawing(self, name: str) -> Any:
        recorder, marks = self._watch.recorder, self._watch.marks
        sites = recorder.sites

        def wrap(original: Any) -> Any:
            def draw(*arguments: Any, **keywords: Any) -> Any:
                drawn = original(*arguments, **keywords)
                if not recorder.quiet and not recorder.rests():
                    frame = sites.frame(2)
                    if frame is not None:
                        recorder.safely(told, drawn, sites.of_frame(frame))
                return drawn

            return draw

        def told(drawn: Any, site: int) -> None:
            marks.put(drawn, Mark(kind="noise", source="noise", operation_at=site, operation=f"torch.{name}"))

        return wrap
