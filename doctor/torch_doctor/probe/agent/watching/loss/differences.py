"""Differences of tensors: whether their shapes were stretched to match, for those that a loss is made of."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from ... import claims
from ..marks import on_node

if TYPE_CHECKING:
    from types import CodeType

    from ..watch import Watch

MOST = 3  # times that one place is looked at while its shapes agree
PLACES = 500


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
        recorder, tensor, agreed, noted, agree = self._recorder, self._tensor, self._agreed, self._noted, self._agree
        frame_at = sys._getframe

        def subtract(*arguments: Any, **keywords: Any) -> Any:
            made = original(*arguments, **keywords)
            if len(arguments) > 1 and not recorder.inside and isinstance(arguments[1], tensor) and not recorder.quiet:
                frame = frame_at(1)
                if arguments[0].dim() != arguments[1].dim():
                    recorder.safely(noted, made, arguments[0], arguments[1], frame)
                elif agreed.get((frame.f_code, frame.f_lasti), 0) < MOST:
                    recorder.safely(agree, made, frame)
            return made

        return subtract

    def _noted(self, made: Any, left: Any, right: Any, frame: Any) -> None:
        """Notes on the node what was stretched to match."""
        sites, node = self._recorder.sites, getattr(made, "grad_fn", None)
        if node is None or not sites.is_users(frame.f_code.co_filename) or self._recorder.rests():
            return
        facts = self._watch.facts
        on_node(node)["broadcast"] = {
            "site": sites.of_frame(frame),
            "name": "",
            "left": facts.of(left) | facts.meta(left),
            "right": facts.of(right) | facts.meta(right),
        }

    def _agree(self, made: Any, frame: Any) -> None:
        """Counts, for the first times at a place, that nothing had to be stretched."""
        place = (frame.f_code, frame.f_lasti)
        users = len(self._agreed) < PLACES and self._recorder.sites.is_users(frame.f_code.co_filename)
        if not users:
            self._agreed[place] = MOST  # not worth a second look
        if not users or getattr(made, "grad_fn", None) is None:
            return
        self._agreed[place] = self._agreed.get(place, 0) + 1
        site = self._recorder.sites.of_frame(frame)
        self._at[site] = self._at.get(site, 0) + 1

    def _count(self, _: BaseException | None) -> None:
        for site, times in self._at.items():
            self._recorder.measured(claims.SHAPES_AGREE, times, site=site)
