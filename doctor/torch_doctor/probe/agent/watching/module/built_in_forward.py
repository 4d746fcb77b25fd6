"""Layers and parameters that are made while a module is called."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from ... import claims
from ..naming import class_name

if TYPE_CHECKING:
    from types import FrameType

    from ...scopes import Here
    from ..watch import Watch

MOST = 64  # that one call makes and that are looked at


class Watcher:
    """Looks, after each whole forward, at what was built in it and whether that is part of the module now."""

    def __init__(self, watch: Watch) -> None:
        self._torch = watch.torch
        self._recorder = watch.recorder
        self._made: list[tuple[Any, int, int]] = []
        self._kept: dict[int, int] = {}
        self._times: dict[int, int] = {}

    def install(self) -> None:
        """Wraps the making of parameters, and has what stayed counted when the script ends."""
        parameter = self._torch.nn.Parameter
        new = parameter.__new__

        def __new__(kind: Any, data: Any = None, requires_grad: bool = True) -> Any:  # noqa: FBT001, FBT002, N807 - torch's own
            made = new(kind, data, requires_grad)
            if self._recorder.inside:
                self._recorder.safely(self._parameter, made, data)
            return made

        parameter.__new__ = staticmethod(__new__)
        self._recorder.at_end.append(self._count)

    def born(self, module: Any, site: int | None) -> None:
        """A module was built while another one was called."""
        if self._recorder.inside == 1 and site is not None and len(self._made) < MOST:
            self._made.append((module, site, self._recorder.here().site))

    def _parameter(self, made: Any, data: Any) -> None:
        """A parameter was made while a module was called: one of its own, which is not computed and belongs to no layer."""
        frame: FrameType | None = sys._getframe(3)
        if (
            frame is None
            or not self._recorder.sites.is_users(frame.f_code.co_filename)
            or frame.f_code.co_name == "__init__"
        ):
            return
        if self._recorder.inside == 1 and made.requires_grad and len(self._made) < MOST and _is_new(data):
            site = self._recorder.sites.of_frame(frame)
            self._made.append((made, site, site))

    def after(self, root: Any, here: Here) -> None:
        """The whole module was called."""
        if not self._made:
            return
        made, self._made = self._made, []
        inside = {id(each) for each in (*root.modules(), *root.parameters())}
        wholes = [each for each, *_ in made if isinstance(each, self._torch.nn.Module)]
        parts = {id(part) for each in wholes for part in (*each.modules(), *each.parameters()) if part is not each}
        for thing, site, use in made:
            if id(thing) not in parts:
                self._look(thing, site, use, here, inside)

    def _look(self, thing: Any, site: int, use: int, here: Here, inside: set[int]) -> None:
        kept = id(thing) in inside
        of_module = isinstance(thing, self._torch.nn.Module)
        trained = [each for each in (thing.parameters() if of_module else [thing]) if each.requires_grad]
        trained = [each for each in trained if kept or id(each) not in inside]
        if not trained:
            return
        self._times[site] = self._times.get(site, 0) + 1
        if kept:
            self._kept[site] = self._kept.get(site, 0) + 1
            if self._kept[site] == 1:
                return  # it may be there to stay
        self._recorder.event(
            "BuiltInForward",
            here,
            site=site,
            owner=0,
            owner_class="",
            class_name=class_name(type(thing), self._recorder) if of_module else "torch.nn.Parameter",
            used_at=use,
            registered=kept,
            elements=sum(each.numel() for each in trained),
            times=self._times[site],
        )

    def _count(self, _: BaseException | None) -> None:
        for site, times in self._kept.items():
            if times == 1:
                self._recorder.measured(claims.LAYERS_STAYED, 1, "layers", site=site)


def _is_new(data: Any) -> bool:
    """Whether a parameter's numbers were not computed from anything that has a graph."""
    return data is not None and data.grad_fn is None and not data.requires_grad
