"""Logarithms: what they are taken of, and how small it becomes."""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING, Any

from ... import claims
from .reachable import can_be, is_chosen

if TYPE_CHECKING:
    from ..watch import Watch

NAMES = ("log", "log2", "log10")
MOST = 4  # calls at one place that are told
MAKERS = frozenset(("softmax", "softmax2d", "softmin", "sigmoid", "hardsigmoid", "relu"))
"""Functions whose results can be 0, in lower case."""
KINDS = frozenset(("probabilities", "bounded by a sigmoid", "activations"))
"""The kinds of such results, and of those that were computed of them and can be 0, too."""


class Watcher:
    """Wraps the logarithms of torch and of its tensors, where the user's own code calls them."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._recorder = watch.recorder
        self._told: dict[int, int] = {}

    def install(self) -> None:
        """Puts the wrappers in place."""
        torch = self._watch.torch
        for name in NAMES:
            self._watch.patches.replace(torch, name, self._wrapping(name))
            self._watch.patches.replace(torch.Tensor, name, self._wrapping(name))
            self._watch.patches.replace(torch.Tensor, f"{name}_", self._wrapping(f"{name}_"))

    def _wrapping(self, name: str) -> Any:
        recorder, told, sites = self._recorder, self._tell, self._recorder.sites

        def wrap(original: Any) -> Any:
            def log(*arguments: Any, **keywords: Any) -> Any:
                frame = sys._getframe(1)
                while frame.f_back is not None and sites.is_agents(frame.f_code.co_filename):  # it is watched twice
                    frame = frame.f_back
                users = sites.is_users(frame.f_code.co_filename)
                if users and arguments and not recorder.quiet and not recorder.rests():
                    recorder.safely(told, name, arguments[0])
                return original(*arguments, **keywords)

            return log

        return wrap

    def _tell(self, name: str, given: Any) -> None:
        recorder, torch = self._recorder, self._watch.torch
        if not isinstance(given, torch.Tensor) or not given.is_floating_point() or not given.numel():
            return
        here = recorder.here()
        if here.frame is None or self._told.get(here.site, 0) >= MOST:
            return
        self._told[here.site] = self._told.get(here.site, 0) + 1
        spelled = recorder.argument(here.site, 0) or recorder.owner(here.site)
        fact = self._watch.facts.of(given, spelled)
        fact["graph"] = fact["graph"] and torch.is_grad_enabled()
        node = given.grad_fn
        zero = "far" if _is_share(fact) else "" if node is None else can_be(torch, given, 0.0)
        told: dict[str, Any] = {"function": f"torch.{name}", "input": fact, "zero": zero, "chosen": is_chosen(node)}
        event = recorder.event("LogTaken", here, **told)
        with torch.no_grad():
            smallest = float(given.detach().min())
        if math.isfinite(smallest):
            recorder.measured(claims.SMALLEST_INPUT, smallest, site=here.site, about=[event])


def _is_share(fact: dict[str, Any]) -> bool:
    """Whether values are what such a function gives."""
    maker = fact.get("operation", "").rpartition(".")[2].rstrip("_").lower()
    return maker in MAKERS and fact.get("kind") in KINDS
