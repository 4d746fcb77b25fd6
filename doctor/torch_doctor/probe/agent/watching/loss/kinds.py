"""Softmax, log-softmax and sigmoid: where a tensor became probabilities."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from ..marks import Mark, on_node

if TYPE_CHECKING:
    from types import FrameType

    from ..watch import Watch

SOFTMAX, LOG_SOFTMAX = "probabilities", "log-probabilities"
MOST = 1000  # places and sizes that are told
SIGMOID, LOG_SIGMOID = "bounded by a sigmoid", "log of a sigmoid"


class Watcher:
    """Wraps the functions and methods that make such values, and notes the place on what they return."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._recorder = watch.recorder
        self._torch = watch.torch
        self._busy = False
        self._told: set[tuple[int, int]] = set()

    def install(self) -> None:
        """Puts the wrappers in place."""
        torch, functional = self._torch, self._torch.nn.functional
        for owner, name, kind in (
            (functional, "softmax", SOFTMAX),
            (functional, "log_softmax", LOG_SOFTMAX),
            (functional, "sigmoid", SIGMOID),
            (functional, "logsigmoid", LOG_SIGMOID),
            (torch, "softmax", SOFTMAX),
            (torch, "log_softmax", LOG_SOFTMAX),
            (torch, "sigmoid", SIGMOID),
            (torch.Tensor, "softmax", SOFTMAX),
            (torch.Tensor, "log_softmax", LOG_SOFTMAX),
            (torch.Tensor, "sigmoid", SIGMOID),
        ):
            prefix = "torch.nn.functional" if owner is functional else "torch"
            self._watch.patches.replace(owner, name, self._making(kind, f"{prefix}.{name}"))

    def _making(self, kind: str, name: str) -> Any:
        recorder, noted = self._recorder, self._noted

        def wrap(original: Any) -> Any:
            def make(*arguments: Any, **keywords: Any) -> Any:
                if self._busy or recorder.quiet or recorder.rests():
                    return original(*arguments, **keywords)
                self._busy = True
                try:
                    made = original(*arguments, **keywords)
                finally:
                    self._busy = False
                recorder.safely(noted, made, kind, name, arguments, keywords)
                return made

            return make

        return wrap

    def _noted(self, made: Any, kind: str, name: str, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        site, module = self._place()
        if site is None:
            return
        if module is not None:
            name = f"torch.nn.{type(module).__name__}"
        if made.grad_fn is not None:
            on_node(made.grad_fn)["made"] = Mark(kind=kind, made_at=site, made_by=name)
        else:
            self._watch.marks.update(made, kind=kind, made_at=site, made_by=name)
        if kind in {SOFTMAX, LOG_SOFTMAX} and made.dim():
            given = keywords.get("input", arguments[0] if arguments else None)
            dim = keywords.get("dim", arguments[1] if len(arguments) > 1 else None)
            self._sized(made, site, name, given, dim)

    def _sized(self, made: Any, site: int, name: str, given: Any, dim: Any) -> None:
        """Tells over how many numbers it went, once of each place and size."""
        if not isinstance(dim, int):
            dim = 0 if made.dim() in {1, 3} else 1  # as `torch.nn.functional` chooses
        size = made.shape[dim]
        if (site, size) not in self._told and len(self._told) < MOST:
            self._told.add((site, size))
            facts, here = self._watch.facts, self._recorder.here()
            fact = facts.of(given) | facts.meta(given)
            self._recorder.event("Normalised", here, site=site, function=name, input=fact, size=size)

    def _place(self) -> tuple[int | None, Any]:
        """The user's call; the construction of the module where a container of torch's called it."""
        sites = self._recorder.sites
        frame: FrameType | None = sys._getframe(4)
        module, containers = None, 0
        while frame is not None and not sites.is_users(frame.f_code.co_filename):
            if frame.f_code.co_name == "forward" and frame.f_code.co_filename.startswith(self._modules_of_torch()):
                if module is None:
                    module = frame.f_locals.get("self")
                else:
                    containers += 1
            frame = frame.f_back
        if module is not None and containers:
            birthplace = self._watch.modules.birthplace(module)
            if birthplace is not None:
                return birthplace, module
        return (sites.of_frame(frame) if frame is not None else None), module

    def _modules_of_torch(self) -> str:
        return str(self._torch.nn.modules.__path__[0])
