"""Modules that no optimizer steps, and that get other weights while others are trained: averages, targets and copies."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

from ...identities import IdentityMap

if TYPE_CHECKING:
    from ...scopes import Here
    from ..watch import Watch

MOST = 16  # modules that are compared
TENSORS, NUMBERS = 4, 64  # parameters of a module that are compared, and numbers of each
OFTEN = 2  # changes of a module that are written


class Watcher:
    """Compares some of their numbers when an optimizer is about to step, and when they are called."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._recorder = watch.recorder
        self._state = (-1, -1)  # of which modules and optimizers there are, as `_modules` was made
        self._modules: list[weakref.ref[Any]] = []
        self._numbers: IdentityMap[list[tuple[Any, Any]]] = IdentityMap()
        self._changes: IdentityMap[int] = IdentityMap()
        self._copies: list[tuple[weakref.ref[Any], Here]] = []  # since the last look

    def install(self) -> None:
        """Nothing: the watchers of optimizers, of calls and of modules ask."""

    def copied(self, module: Any) -> None:
        """A module is a copy: of one that is trained, if its numbers are those of what a step has moved."""
        if self._watch.optimizers.moved and not self._recorder.quiet and not self._recorder.inside:
            here = self._recorder.here()
            if here.frame is not None and len(self._copies) < MOST * NUMBERS:
                self._copies.append((weakref.ref(module), here._replace(frame=None)))

    def look(self, here: Here, module: Any = None) -> None:
        """Write what has changed since the last look; `module` is about to be called (None: an optimizer steps)."""
        optimizers = self._watch.optimizers
        if not optimizers.optimized or (module is not None and not self._is_apart(module)):
            return
        copies, self._copies = self._copies, []
        for reference, there in copies:
            copy = reference()
            if copy is not None and not self._watch.modules.is_part(copy) and self._is_apart(copy):
                self._look_at_copy(copy, there)
        for reference in self._apart():
            each = reference()
            if each is not None and self._changes.get(each, 0) < OFTEN:
                self._compare(each, here)

    def _apart(self) -> list[weakref.ref[Any]]:
        """The whole modules that no optimizer has anything of."""
        modules, optimizers = self._watch.modules, self._watch.optimizers
        state = (modules.version, len(optimizers.optimized))
        if state != self._state:
            self._state = state
            found = (each for each in modules.alive() if not modules.is_part(each) and self._is_apart(each))
            self._modules = [weakref.ref(each) for each, _ in zip(found, range(MOST), strict=False)]
        return self._modules

    def _is_apart(self, module: Any) -> bool:
        if isinstance(module, self._watch.torch.jit.ScriptModule):  # each look at its parameters gives new objects
            return False
        own = self._watch.modules.family(module).parameters
        optimized = self._watch.optimizers.optimized
        return bool(own) and all(id(each) not in optimized and each.is_leaf and each.grad is None for each in own)

    def _sample(self, module: Any) -> list[tuple[Any, Any]]:
        """The shapes of a module's largest parameters, and copies of some of their numbers."""
        torch = self._watch.torch
        own = [each for each in self._watch.modules.family(module).parameters if each.is_floating_point()]
        own = [each for each in own if each.layout == torch.strided and not torch.nn.parameter.is_lazy(each)]
        own = [each for each in own if not each.is_meta and each.numel() > 1]
        own = sorted(own, key=lambda each: -each.numel())[:TENSORS]
        return [(each.shape, each.detach().reshape(-1)[:NUMBERS].clone()) for each in own]

    def _compare(self, module: Any, here: Here) -> None:
        with self._watch.unwatched():
            numbers, before = self._sample(module), self._numbers.get(module)
            self._numbers[module] = numbers
            same = before is None or all(
                old.device != new.device or self._watch.torch.equal(old, new)
                for (_, old), (_, new) in zip(before, numbers, strict=False)
            )
        if not same:
            self._write(module, here)

    def _look_at_copy(self, copy: Any, there: Here) -> None:
        """Write that a module is a copy of what is trained, where all numbers that are looked at are the same."""
        with self._watch.unwatched():
            trained = self._watch.optimizers.tensors()
            sample = self._sample(copy)
            originals = [next((each for each in trained if self._is_like(each, *own)), None) for own in sample]
        if sample and None not in originals:
            self._write(copy, there, sorted(self._watch.modules.owners(originals, there)))

    def _is_like(self, trained: Any, shape: Any, numbers: Any) -> bool:
        kind = (trained.shape, trained.dtype, trained.device)
        if kind != (shape, numbers.dtype, numbers.device):
            return False
        return bool(self._watch.torch.equal(trained.detach().reshape(-1)[:NUMBERS], numbers))

    def _write(self, module: Any, here: Here, of: list[int] | None = None) -> None:
        self._changes[module] = self._changes.get(module, 0) + 1
        owners = self._watch.modules.owners(self._watch.modules.family(module).parameters, here)
        self._recorder.event("WeightsGiven", here, modules=sorted(owners), whole=True, of=of or [])
