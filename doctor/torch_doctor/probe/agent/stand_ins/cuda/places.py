"""Where tensors would be if there were a GPU: kept by the object, and told by those who move tensors."""

from __future__ import annotations

import weakref
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

INDEX = 0
"""`cpu:0` is the GPU: a device that torch takes for the CPU, and that no script asks for."""


class Place:
    """Where a tensor is: on the GPU, or on the CPU since it was made at `site` (a number; -1: not in the user's code).

    Of one on the GPU, `site` is where it was put there. `how` is "made", "batch", "parameter" or "moved" (there by the
    user's wish). `inside`: made while a module was called.
    What is computed from a tensor shares its place.
    """

    __slots__ = ("gpu", "how", "inside", "site")

    def __init__(self, *, gpu: bool, how: str = "made", site: int = -1, inside: bool = False) -> None:
        self.gpu = gpu
        self.how = how
        self.site = site
        self.inside = inside


GPU = Place(gpu=True)
DISPATCHED = Place(gpu=True, how="dispatched")
"""Of what a library puts on the GPUs that it finds (`device_map="auto"`): it may move what the module is called with, too."""


class Places:
    """The place of every tensor of which it is known; nothing is kept before `begin`."""

    def __init__(self) -> None:
        self.active = False
        self.asleep = 0
        self.latest: tuple[Any, Place | None, Any] = (None, None, None)
        self.on_put: Callable[[], int] = lambda: -1  # is told of each move to the GPU, and tells where it is
        self._known: dict[int, tuple[weakref.ref[Any], Place]] = {}

    def begin(self) -> None:
        """From now on it is known."""
        self.active = True

    def end(self) -> None:
        """From now on nobody knows."""
        self.active = False
        self.asleep += 1
        self._known.clear()

    def gpu(self, torch: Any) -> Any:
        """The device that stands for the GPU."""
        return torch.device("cpu", INDEX)

    def of(self, tensor: Any) -> Place | None:
        """Where a tensor is; None where that is not known."""
        known = self._known.get(id(tensor))
        return known[1] if known is not None and known[0]() is tensor else None

    def is_gpu(self, tensor: Any) -> bool:
        """Whether a tensor would be on the GPU."""
        place = self.of(tensor)
        return place is not None and place.gpu

    def set(self, tensor: Any, place: Place | None) -> None:
        """A tensor is there now; None: nobody knows."""
        key = id(tensor)
        if place is None:
            self._known.pop(key, None)
        else:
            self._known[key] = weakref.ref(tensor, lambda _: self._known.pop(key, None)), place

    def means_gpu(self, device: Any) -> bool:
        """Whether a `torch.device` is what stands for the GPU."""
        return bool(self.active and getattr(device, "type", "") == "cpu" and device.index == INDEX)

    def put(self, tensor: Any, result: Any) -> Any:
        """`tensor` is moved to the GPU, which gave `result`: as on a GPU, that is another tensor, unless it was there."""
        before = self.of(tensor)
        if before is not None and before.gpu:
            self.set(result, before)
            return result
        if result is tensor:
            with self.sleeping():
                result = tensor.clone() if tensor.is_sparse else tensor.to("cpu", copy=True)
        self.latest = (result, before, tensor)
        self.set(result, Place(gpu=True, how="moved", site=self.on_put()))
        return result

    def put_all(self, module: Any) -> None:
        """A module's parameters and buffers are on the GPU."""
        for tensor in (*module.parameters(), *module.buffers()):
            self.set(tensor, GPU)

    def dispatch(self, module: Any) -> None:
        """A library put a module's parameters and buffers where there is room for them."""
        if self.active:
            for tensor in (*module.parameters(), *module.buffers()):
                self.set(tensor, DISPATCHED)

    @contextmanager
    def sleeping(self) -> Iterator[None]:
        """What happens within is part of something that tells of itself."""
        self.asleep += 1
        try:
            yield
        finally:
            self.asleep -= 1


places = Places()
