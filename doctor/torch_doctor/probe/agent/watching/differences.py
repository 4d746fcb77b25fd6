"""Differences of tensors: whether their shapes were stretched to match, for those that a loss is made of."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from .marks import on_node

if TYPE_CHECKING:
    from types import CodeType

    from .watch import Watch

MOST = 3  # times that one place is looked at while its shapes agree
PLACES = 500
AGREE = "differences of tensors of one shape"


class Watcher:
    """Wraps subtraction outside of modules; a difference with a graph is noted on its node, for backward to find."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._recorder = watch.recorder
        self._tensor = watch.torch.Tensor
        self._agreed: dict[tuple[CodeType, int], int] = {}
        self._at: dict[int, int] = {}

    def install(self) -> None:
        """Puts the wrappers in place."""
        torch = self._watch.torch
        for owner, name in ((torch.Tensor, "__sub__"), (torch.Tensor, "sub"), (torch, "sub")):
            self._watch.patches.replace(owner, name, self._wrapping)
        self._recorder.at_end.append(self._count)

    def _wrapping(self, original: Any) -> Any:
        recorder, tensor, noted = self._recorder, self._tensor, self._noted

        def subtract(*arguments: Any, **keywords: Any) -> Any:
            made = original(*arguments, **keywords)
            if len(arguments) > 1 and isinstance(arguments[1], tensor) and not recorder.inside and not recorder.quiet:
                recorder.safely(noted, made, arguments[0], arguments[1], sys._getframe(1))
            return made

        return subtract

    def _noted(self, made: Any, left: Any, right: Any, frame: Any) -> None:
        sites = self._recorder.sites
        node = getattr(made, "grad_fn", None)
        if node is None or not sites.is_users(frame.f_code.co_filename) or self._recorder.rests():
            return
        if left.dim() == right.dim():
            place = (frame.f_code, frame.f_lasti)
            times = self._agreed.get(place, 0)
            if times < MOST and len(self._agreed) < PLACES:
                self._agreed[place] = times + 1
                site = sites.of_frame(frame)
                self._at[site] = self._at.get(site, 0) + 1
            return
        facts, site = self._watch.facts, sites.of_frame(frame)
        on_node(node)["broadcast"] = {
            "site": site,
            "name": "",
            "left": facts.of(left) | facts.meta(left),
            "right": facts.of(right) | facts.meta(right),
        }

    def _count(self, _: BaseException | None) -> None:
        for site, times in self._at.items():
            self._recorder.measured(AGREE, times, site=site)
