"""The gradients of all tensors that got some: whether they are still there, and whether somebody changed them by hand."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

from ..bootstrap import instruments

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..scopes import Here
    from .watch import Watch

LARGEST = 4_000_000  # elements of a tensor whose values are kept for comparison
PROOFS = 4  # backward passes for which the old gradients are measured


class State:
    """The gradient of one tensor: whether there is one that is not zero, and since which version of it."""

    __slots__ = ("moved", "present", "ref", "values", "version", "zero_version")

    def __init__(self, ref: weakref.ref[Any]) -> None:
        self.ref = ref
        self.present = False
        self.version = -1
        self.zero_version = -1
        self.values: Any = None
        self.moved = False


class Watcher:
    """Compares what should be there with what is there; writes what was cleared or updated by hand."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._torch = watch.torch
        self._recorder = watch.recorder
        self._states: dict[int, State] = {}
        self._present: set[int] = set()
        self._unowned: set[int] = set()
        self._backward: Here | None = None
        self._cleared_already: set[int] = set()
        self._moved_already: set[int] = set()

    def install(self) -> None:
        """Puts what instrumented code calls after it may have changed something by hand."""
        instruments("touched", self.touched)

    # --- states ---

    def state(self, tensor: Any) -> State:
        """The state of a tensor's gradient."""
        key = id(tensor)
        known = self._states.get(key)
        if known is not None and known.ref() is tensor:
            return known
        states, present, unowned = self._states, self._present, self._unowned

        def forget(gone: weakref.ref[Any]) -> None:
            if key in states and states[key].ref is gone:
                del states[key]
                present.discard(key)
                unowned.discard(key)

        known = states[key] = State(weakref.ref(tensor, forget))
        self._present.discard(key)
        return known

    def is_stale(self, tensor: Any) -> bool:
        """Whether the tensor has a gradient that is not zero."""
        gradient = tensor.grad
        if gradient is None:
            return False
        state = self.state(tensor)
        if state.zero_version == gradient._version and not state.present:
            return False
        return _is_nonzero(gradient)

    def filled(self, tensors: list[Any], here: Here) -> None:
        """These tensors got gradients."""
        self._backward = here
        optimized = self._watch.optimizers.optimized
        for tensor in tensors:
            state = self.state(tensor)
            state.present = True
            state.version = tensor.grad._version if tensor.grad is not None else -1
            self._present.add(id(tensor))
            state.moved = False
            if id(tensor) not in optimized and tensor.numel() <= LARGEST:
                state.values = tensor.detach().clone()
                self._unowned.add(id(tensor))
            else:
                state.values = None
                self._unowned.discard(id(tensor))
        self._cleared_already = set()
        self._moved_already = set()

    def cleared(self, tensors: Iterable[Any]) -> list[Any]:
        """The gradients of these tensors were cleared by a call; returns those that are gone."""
        gone = []
        for tensor in tensors:
            gradient = tensor.grad
            key = id(tensor)
            if gradient is not None:
                state = self.state(tensor)
                state.present = False
                state.zero_version = gradient._version
            elif key in self._present:
                self.state(tensor).present = False
            self._present.discard(key)
            gone.append(tensor)
        return gone

    # --- by hand ---

    def touched(self, key: int) -> None:
        """A statement ran that may have changed gradients or parameters."""
        if (self._present or self._unowned) and not self._recorder.inside and not self._recorder.quiet:
            self._recorder.safely(self._look_after, key)

    def _look_after(self, key: int) -> None:
        gone, moved = self._changes(thoroughly=True)
        if gone or moved:
            here = self._recorder.here(5)
            self._write(gone, moved, here, self._recorder.index.site(key), self._recorder.index.nodes[key].text)

    def look(self, here: Here) -> None:
        """Before something happens: writes what was changed by hand and not noticed at a statement."""
        if not self._present and not self._unowned:
            return
        gone, moved = self._changes(thoroughly=False)
        if gone or moved:
            at = self._backward or here
            self._write(gone, moved, at, at.site, "")

    def _changes(self, *, thoroughly: bool) -> tuple[list[Any], list[Any]]:
        """The tensors whose gradients are gone, and those whose values moved, since the last backward pass."""
        gone, moved = [], []
        for key in list(self._present):
            state = self._states[key]
            tensor = state.ref()
            if tensor is None:
                continue
            gradient = tensor.grad
            if gradient is None or ((thoroughly or gradient._version != state.version) and not _is_nonzero(gradient)):
                gone.append(tensor)
                state.present = False
                if gradient is not None:
                    state.zero_version = gradient._version
                self._present.discard(key)
            elif gradient._version != state.version:
                state.version = gradient._version
        for key in list(self._unowned):
            state = self._states[key]
            tensor = state.ref()
            if tensor is not None and not state.moved and not self._torch.equal(tensor.detach(), state.values):
                state.moved = True
                moved.append(tensor)
                self._unowned.discard(key)
                state.values = None
        return gone, moved

    def _write(self, gone: list[Any], moved: list[Any], here: Here, site: int, text: str) -> None:
        """Modules of which everything is gone are cleared; modules of which anything moved were stepped; each once."""
        owners, recorder = self._watch.modules.owners, self._recorder
        if moved:
            modules = owners(moved, here) - self._moved_already
            if modules:
                self._moved_already |= modules
                recorder.event(
                    "Stepped", here, site=site, optimizer=0, name=text, modules=sorted(modules), whole=True, manual=True
                )
                recorder.happened(here, trained=True, step=True)
        if gone:
            left = owners(
                [state.ref() for key in self._present if (state := self._states[key]).ref() is not None], here
            )
            modules = owners(gone, here) - left - self._cleared_already
            if modules:
                self._cleared_already |= modules
                recorder.event("ZeroGrad", here, site=site, target=0, name=text, modules=sorted(modules), whole=True)

    def assigned(self, tensors: list[Any], here: Here) -> None:
        """Before a step: writes gradients that no backward pass put there, as the change by hand that they are."""
        new = []
        for tensor in tensors:
            if tensor.grad is not None and id(tensor) not in self._present:
                state = self.state(tensor)
                if state.zero_version != tensor.grad._version and _is_nonzero(tensor.grad):
                    new.append(tensor)
                    state.zero_version = tensor.grad._version
        if new:
            modules = self._watch.modules.owners(new, here)
            self._recorder.event("ZeroGrad", here, target=0, name="", modules=sorted(modules), whole=True)


def _is_nonzero(gradient: Any) -> bool:
    if gradient.layout is not gradient.layout.__class__ and gradient.is_sparse:
        gradient = gradient.coalesce().values()
    return bool(gradient.detach().any())
