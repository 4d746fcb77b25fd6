"""Tensors that the script creates on the CPU and then moves to a GPU, where they could have been created."""

from __future__ import annotations

import os
from typing import Any

from ..identities import IdentityMap
from .telling import fact, number

FACTORIES = ("arange", "empty", "eye", "full", "linspace", "ones", "rand", "randint", "randn", "randperm", "zeros")
MUCH = 1 << 20
"""Bytes from which on the sentence of the rung names them."""
MOST = 8


class Births:
    """Wraps factories and moves; `found` are the bytes that were moved, by the factory and its line."""

    def __init__(self, catcher: Any) -> None:
        self._catcher = catcher
        self._recorder = catcher.recorder
        self._born: IdentityMap[str] = IdentityMap()
        self.found: dict[str, int] = {}

    def install(self) -> None:
        """Puts the wrappers in place."""
        torch, patches = self._catcher.torch, self._catcher.watch.patches
        for name in FACTORIES:
            patches.replace(torch, name, self._creating(name))
        for name in ("to", "cuda"):
            patches.replace(torch.Tensor, name, self._moving(name))

    def _creating(self, name: str) -> Any:
        def wrap(original: Any) -> Any:
            def create(*arguments: Any, **keywords: Any) -> Any:
                made = original(*arguments, **keywords)
                drawn = keywords.get("generator") is not None  # one on the CPU gives its numbers only there
                if not self._recorder.quiet and not drawn and "out" not in keywords:
                    self._recorder.safely(self._created, name, made)
                return made

            return create

        return wrap

    def _created(self, name: str, made: Any) -> None:
        frame = self._recorder.sites.frame(1)
        if frame is None or made.device.type != "cpu":
            return
        self._born[made] = f"`torch.{name}` at {os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}"

    def _moving(self, name: str) -> Any:
        def wrap(original: Any) -> Any:
            def move(tensor: Any, *arguments: Any, **keywords: Any) -> Any:
                result = original(tensor, *arguments, **keywords)
                if tensor in self._born and not self._recorder.quiet:
                    place = "cuda" if name == "cuda" else keywords.get("device", arguments[0] if arguments else None)
                    self._recorder.safely(self._moved, self._born[tensor], tensor, place)
                return result

            return move

        return wrap

    def _moved(self, where: str, tensor: Any, place: Any) -> None:
        """By where it is to go: without a GPU, its copy is on the CPU."""
        torch = self._catcher.torch
        if isinstance(place, torch.Tensor):
            place = place.device
        if not isinstance(place, (int, str, torch.device)) or torch.device(place).type == "cpu":
            return
        if where in self.found or len(self.found) < MOST:
            self.found[where] = self.found.get(where, 0) + tensor.numel() * tensor.element_size()

    def facts(self) -> list[dict[str, Any]]:
        """What was moved, in bytes."""
        group = "created on the CPU and then moved"
        return [fact(where, size, "bytes", group=group) for where, size in self.found.items()]

    def words(self) -> str:
        """The largest of them, in words; "" where that is not much."""
        where, size = max(self.found.items(), key=lambda pair: pair[1], default=("", 0))
        if size < MUCH:
            return ""
        return f"{where} creates {number(round(size / 1e6, 1))} MB on the CPU that are then moved: `device=` avoids the copy"
