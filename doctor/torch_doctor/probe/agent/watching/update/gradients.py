"""The gradients of all tensors that got some: whether they are still there, and whether somebody changed them by hand."""

from __future__ import annotations

from threading import get_ident
from typing import TYPE_CHECKING, Any
from weakref import ref

from ... import hooks
from ..averages import followed
from ..instrument_hooks import InstrumentHooks
from .gradient_states import GradientState

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ...scopes import Here
    from ..watch import Watch

LARGEST = 4_000_000  # elements of a tensor whose values are kept for comparison
PROOFS = 4  # backward passes for which the old gradients are measured


class Watcher:
    """Compares what should be there with what is there; writes what was cleared or updated by hand."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._torch = watch.torch
        self._recorder = watch.recorder
        self._states: dict[int, GradientState] = {}
        self._present: set[int] = set()
        self._unowned: set[int] = set()
        self._parts: set[float] = set()
        self._backward: Here | None = None
        self._threads: set[int] = set()  # that change gradients
        self._once: dict[str, set[int]] = {"gone": set(), "moved": set(), "assigned": set(), "changed": set()}

    def install(self) -> None:
        """Puts what instrumented code calls after it may have changed something by hand."""
        hooks.put("touched", self.touched)
        self._recorder.woken.append(self._look_again)

    def _look_again(self) -> None:
        """Takes the gradients as they are now: what changed them was not recorded."""
        for key, state in list(self._states.items()):
            tensor = state.ref()
            gradient = None if tensor is None else tensor.grad
            state.present, state.empty = gradient is not None and is_nonzero(gradient), False
            if gradient is not None:
                state.gradient, state.version = id(gradient), gradient._version
                state.zero_version = -1 if state.present else gradient._version
            (self._present.add if state.present else self._present.discard)(key)
        self._unowned.clear()
        self.next_round()

    # --- states ---

    def state(self, tensor: Any) -> GradientState:
        """The state of a tensor's gradient."""
        key = id(tensor)
        known = self._states.get(key)
        if known is not None and known.ref() is tensor:
            return known
        states, present, unowned = self._states, self._present, self._unowned

        def forget(gone: ref[Any]) -> None:
            if key in states and states[key].ref is gone:
                del states[key]
                present.discard(key)
                unowned.discard(key)

        known = states[key] = GradientState(ref(tensor, forget))
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
        return is_nonzero(gradient)

    def filled(self, tensors: list[Any], here: Here) -> None:
        """These tensors got gradients."""
        self._backward = here
        self._threads.add(get_ident())
        optimized, moved = self._watch.optimizers.optimized, self._watch.optimizers.moved
        for tensor in tensors:
            number = id(tensor)
            state = self.state(tensor)
            state.present, state.empty = True, not is_nonzero(tensor.grad)
            state.gradient, state.version = id(tensor.grad), tensor.grad._version
            self._present.add(number)
            if (number not in optimized or (state.waited and number not in moved)) and tensor.numel() <= LARGEST:
                state.values = tensor.detach().clone()
                self._unowned.add(number)
            else:
                state.values = None
                self._unowned.discard(number)
            state.waited = True
        self.next_round()

    def owned(self, numbers: set[int]) -> None:
        """An optimizer moves these tensors from here on."""
        for number in numbers & self._unowned:
            self._states[number].values = None
        self._unowned -= numbers

    def next_round(self) -> None:
        """A backward pass, a clearing or a step came: what is changed by hand from here on is told again."""
        for told in self._once.values():
            told.clear()

    def cleared(self, tensors: Iterable[Any]) -> list[Any]:
        """The gradients of these tensors were cleared by a call; returns those that are gone."""
        gone = []
        self._threads.add(get_ident())
        for tensor in tensors:
            gradient = tensor.grad
            key = id(tensor)
            if gradient is not None:
                state = self.state(tensor)
                state.present = False
                state.gradient, state.zero_version = id(gradient), gradient._version
            elif key in self._present:
                self.state(tensor).present = False
            self._present.discard(key)
            gone.append(tensor)
        self.next_round()
        return gone

    # --- by hand ---

    def touched(self, key: int) -> None:
        """A statement ran that may have changed gradients or parameters."""
        if not self._recorder.inside and not self._recorder.quiet and not self._recorder.rests():
            named = ".grad" in self._recorder.index.nodes[key].text
            if named or self._present or self._unowned:
                self._recorder.safely(self._look_after, key, named)

    def _look_after(self, key: int, named: bool) -> None:  # noqa: FBT001 - as `touched` knows it
        if named:
            self._threads.add(get_ident())
        gone, moved, changed = self._changes(thoroughly=True)
        assigned = self._assigned(self._watch.optimizers.tensors()) if named else []
        if (gone or moved or assigned or (changed and named)) and self._is_attributable():
            here, index = self._recorder.here(), self._recorder.index
            self._write_changed(changed if named else [], here, index.site(key), index.nodes[key].text)
            self._write(gone, moved, here, index.site(key), index.nodes[key].text)
            self._write_assigned(assigned, here, index.site(key), index.nodes[key].text)

    def look(self, here: Here) -> None:
        """Before something happens: writes what was changed by hand and not noticed at a statement."""
        if self._present or self._unowned:
            gone, moved, _ = self._changes(thoroughly=False)
            if (gone or moved) and self._is_attributable():
                at = self._backward or here
                self._write(gone, moved, at, at.site, "")

    def _is_attributable(self) -> bool:
        """Whether the statement that shows a change made it: another thread may be in the middle of one that did."""
        if self._threads - {get_ident()}:
            self._recorder.doubt("several threads change gradients, so steps cannot be attributed to them")
            return False
        return True

    def _changes(self, *, thoroughly: bool) -> tuple[list[Any], list[Any], list[Any]]:
        """The tensors whose gradients are gone, whose values moved since the last backward pass, and whose gradients changed."""
        gone, moved, changed = [], [], []
        for key in list(self._present):
            state = self._states[key]
            tensor = state.ref()
            if tensor is None:
                continue
            gradient = tensor.grad
            if gradient is None or id(gradient) != state.gradient or self._is_cleared(gradient, state, thoroughly):
                gone.append(tensor)
                state.present = False
                self._present.discard(key)
                if gradient is not None and id(gradient) == state.gradient:
                    state.zero_version = gradient._version
            elif gradient._version != state.version:
                changed.append(tensor)
                state.version = gradient._version
        for key in list(self._unowned):
            state = self._states[key]
            tensor = state.ref()
            if tensor is None or self._torch.equal(tensor.detach(), state.values):
                continue
            if self._is_given(tensor, state.values):
                continue
            moved.append(tensor)
            self._unowned.discard(key)
            state.values = None
        return gone, moved, changed

    def _is_given(self, tensor: Any, before: Any) -> bool:
        """Whether the values come from another module's, as those of a target network do: that is no update."""
        if not self._watch.modules.is_owned(tensor):
            return False
        own = self._watch.optimizers.tensors()
        others = (each for each in own if each.shape == tensor.shape and each is not tensor)
        part = followed(self._torch, before, tensor.detach(), others, self._parts)
        self._parts.add(part)
        return part > 0

    def _is_cleared(self, gradient: Any, state: GradientState, thoroughly: bool) -> bool:  # noqa: FBT001 - as `_changes` knows it
        looks = thoroughly or gradient._version != state.version
        return looks and not state.empty and not is_nonzero(gradient)

    def _assigned(self, tensors: Iterable[Any]) -> list[Any]:
        """The tensors that have a gradient which no backward pass put there."""
        found = []
        for tensor in tensors:
            gradient = tensor.grad
            if gradient is not None and id(tensor) not in self._present:
                state = self.state(tensor)
                known = id(gradient) == state.gradient and gradient._version == state.zero_version
                if not known and is_nonzero(gradient):
                    found.append(tensor)
                    state.present, state.empty = True, False
                    state.gradient, state.version = id(gradient), gradient._version
                    self._present.add(id(tensor))
        return found

    def _write(self, gone: list[Any], moved: list[Any], here: Here, site: int, text: str) -> None:
        """Modules of which everything is gone are cleared; modules of which anything moved were stepped; each once."""
        owners, recorder, once = self._watch.modules.owners, self._recorder, self._once
        if moved:
            modules = owners(moved, here) - once["moved"]
            if modules:
                once["moved"] |= modules
                event = recorder.event(
                    "Stepped", here, site=site, optimizer=0, name=text, modules=sorted(modules), whole=True, manual=True
                )
                recorder.happened(_training(here), trained=True, step=True)
                self._watch.tell(InstrumentHooks.on_step, None, here, event)
        if gone:
            left = owners(
                [state.ref() for key in self._present if (state := self._states[key]).ref() is not None], here
            )
            modules = owners(gone, here) - left - once["gone"]
            if modules:
                once["gone"] |= modules
                recorder.event("ZeroGrad", here, site=site, target=0, name=text, modules=sorted(modules), whole=True)

    def _write_changed(self, tensors: list[Any], here: Here, site: int, text: str) -> None:
        """Gradients that the script changed in place, and that are still there."""
        modules = self._watch.modules.owners(tensors, here) - self._once["changed"] if tensors else frozenset()
        if modules:
            self._once["changed"] |= modules
            fields = {"name": text, "modules": sorted(modules), "whole": True}
            self._recorder.event("Clipped", here, site=site, function="", manual=True, **fields)

    def assigned(self, tensors: Iterable[Any], here: Here) -> None:
        """Before a step: writes gradients that no backward pass put there and no statement showed."""
        found = self._assigned(tensors)
        if found and self._is_attributable():
            self._write_assigned(found, here, here.site, "")

    def _write_assigned(self, tensors: list[Any], here: Here, site: int, text: str) -> None:
        """Gradients that were assigned are new ones in the place of old ones."""
        modules = self._watch.modules.owners(tensors, here) - self._once["assigned"] if tensors else frozenset()
        if modules:
            self._once["assigned"] |= modules
            fields = {"name": text, "modules": sorted(modules), "whole": True}
            self._recorder.event("ZeroGrad", here, site=site, target=0, **fields)
            self._recorder.event("Backward", here, site=site, through="assigned", loss={"name": text}, **fields)
            self._recorder.happened(_training(here), trained=True)


def _training(here: Here) -> Here:
    """Where an update by hand happens: a loop through parameters, in which nothing else does, is none that trains."""
    watched = [loop for loop in here.loops if loop.watched]
    return here._replace(loops=watched) if watched else here


def is_nonzero(gradient: Any) -> bool:
    """Whether anything in it is not zero."""
    if gradient.is_sparse:
        gradient = gradient.coalesce().values()
    return bool(gradient.detach().any())
