"""Tensors that have the memory of an array, and whether their numbers are still those that they were made with."""

from __future__ import annotations

import weakref
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ... import claims

if TYPE_CHECKING:
    from ..watch import Watch

MOST = 64  # tensors that are remembered at a time
SAMPLED = 4096  # numbers of each that are compared


class Shared:
    """A tensor over the memory of an array: what keeps the memory, weakly, where it lies, and numbers that it had."""

    __slots__ = ("before", "dtype", "owners", "place", "shape", "site", "strides")

    def __init__(self, tensor: Any, data: Any, before: Any, site: int) -> None:
        base = getattr(data, "base", None)
        while type(base) is type(data):
            data, base = base, getattr(base, "base", None)
        self.owners = [weakref.ref(tensor)]
        with suppress(TypeError):  # what cannot be referred to weakly
            self.owners.append(weakref.ref(data))
        self.place = tensor.untyped_storage().data_ptr()
        self.shape, self.strides, self.dtype = tensor.shape, tensor.stride(), tensor.dtype
        self.before = before
        self.site = site

    def within(self, tensor: Any) -> Any:
        """The tensor as it was made, of the storage that another one has; None where the memory is another by now."""
        if all(owner() is None for owner in self.owners):
            return None
        with suppress(RuntimeError):  # the storage is shorter
            made = tensor.new_empty(0, dtype=self.dtype)
            return made.set_(tensor.untyped_storage(), 0, self.shape, self.strides)
        return None


class Watcher:
    """Remembers some numbers of what `from_numpy` and `as_tensor` return, and compares them where it is used."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._torch = watch.torch
        self._recorder = watch.recorder
        self._known: list[Shared] = []
        self._told: set[tuple[int, bool]] = set()

    def install(self) -> None:
        """Wraps what makes such tensors and what puts tensors together."""
        replace = self._watch.patches.replace
        for name in ("from_numpy", "as_tensor"):
            replace(self._torch, name, self._makes)
        for name in ("stack", "cat"):
            replace(self._torch, name, self._joins)

    def _makes(self, original: Any) -> Any:
        recorder = self._recorder

        def wrapper(data: Any, *arguments: Any, **keywords: Any) -> Any:
            tensor = original(data, *arguments, **keywords)
            if not recorder.inside and not recorder.quiet and not isinstance(data, (list, tuple, int, float)):
                recorder.safely(self._made, tensor, data)
            return tensor

        return wrapper

    def _made(self, tensor: Any, data: Any) -> None:
        here = self._recorder.here()
        place = getattr(data, "__array_interface__", None)
        if here.frame is None or place is None or place["data"][0] != tensor.data_ptr() or not tensor.numel():
            return
        del self._known[: len(self._known) + 1 - MOST]
        self._known.append(Shared(tensor, data, self._numbers(tensor).clone(), here.site))

    def _joins(self, original: Any) -> Any:
        recorder = self._recorder

        def wrapper(tensors: Any, *arguments: Any, **keywords: Any) -> Any:
            if self._known and not recorder.inside and not recorder.quiet and isinstance(tensors, (list, tuple)):
                recorder.safely(self.used, tensors)
            return original(tensors, *arguments, **keywords)

        return wrapper

    def used(self, tensors: Any) -> None:
        """Tensors are put together, given to a model, or to a loss."""
        if not self._known:
            return
        given = [
            each for each in tensors if isinstance(each, self._torch.Tensor) and each.layout is self._torch.strided
        ]
        places = {each.untyped_storage().data_ptr(): each for each in given}
        for shared in self._known:
            tensor = shared.within(places[shared.place].detach()) if shared.place in places else None
            if tensor is not None:
                self._compare(self._numbers(tensor), shared.before, shared.site)

    def _compare(self, now: Any, before: Any, site: int) -> None:
        changed = int((now != before).sum())
        if (site, bool(changed)) in self._told:
            return
        self._told.add((site, bool(changed)))
        here = self._recorder.here()
        if not changed:
            self._recorder.measured(claims.SHARED_NUMBERS_STAYED, before.numel(), "numbers", site=site)
            return
        self._recorder.event(
            "MemoryChanged",
            here,
            site=site,
            name=self._recorder.argument(site, 0),
            shared_at=site,
            used_at=here.site,
            changed=changed,
            elements=before.numel(),
        )

    def _numbers(self, tensor: Any) -> Any:
        with self._torch.no_grad():
            flat = tensor.detach().reshape(-1)
            return flat[:: max(1, flat.numel() // SAMPLED)]
