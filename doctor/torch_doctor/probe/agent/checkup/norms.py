"""The gradient norms of the script's own steps: of all parameters and of each, before and after clipping."""

from __future__ import annotations

import importlib
import math
import threading
from typing import TYPE_CHECKING, Any

from ..watching.update.optimizers import parameters_of
from .magnitude import norm, total

if TYPE_CHECKING:
    from .by_hand import ByHand
    from .observing import Observer
    from .plays import Seen

RUNGS = frozenset({"overfit-one-batch", "small-subset", "non-finite"})
"""The rungs that train as the script does."""
CLIPPING = ("clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_")
CHANGED = 1e-4
"""Part of a norm by which it has to become smaller to count as clipped."""


class Step:
    """One optimizer step: `before` and `after` clipping are global norms, `layers` the norms of parameters before it, by id.

    `clipped`: a clipping function of torch made the norm smaller.
    """

    __slots__ = ("after", "before", "clipped", "layers")

    def __init__(self, layers: dict[int, float], after: float, *, asked: bool) -> None:
        self.layers = layers
        self.before = total(layers.values())
        self.after = after
        self.clipped = asked and after < self.before * (1 - CHANGED)

    @property
    def kept(self) -> float:
        """The part of the norm that clipping left."""
        return self.after / self.before if self.clipped else 1.0


class Track:
    """The steps of one optimizer in one rung, in their order; `name` is the optimizer's class."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.steps: list[Step] = []


class StepNorms:
    """Measures the steps of rungs that train with the script's own code and learning rate.

    `rung` is the one under way. `tracks` are the steps by rung and by the parameters of the optimizer.
    """

    def __init__(self, observer: Observer) -> None:
        self._observer = observer
        self._watch = observer.watch
        self.rung = ""
        self.tracks: dict[str, dict[frozenset[int], Track]] = {}
        self._unclipped: dict[int, float] = {}
        self._play: Seen | None = None
        self._spoilt: Seen | None = None

    def install(self) -> None:
        """Listen to optimizers and to the functions that clip gradients."""
        utils, patches = self._watch.torch.nn.utils, self._watch.patches
        for name in CLIPPING:
            patches.replace(utils.clip_grad, name, self._clipping)
            patches.replace(utils, name, self._clipping)
        self._observer.updated_by_hand = self._by_hand
        hooks = importlib.import_module("torch.optim.optimizer")
        patches.hook(hooks.register_optimizer_step_pre_hook, self._stepping)

    @property
    def steps(self) -> int:
        """How many steps the rung under way has made so far."""
        return max((len(track.steps) for track in self.tracks.get(self.rung, {}).values()), default=0)

    def broken(self) -> str:
        """Return the first rung in which a gradient was not finite when an optimizer stepped, with the step; or nothing."""
        for rung, tracks in self.tracks.items():
            for track in tracks.values():
                for number, step in enumerate(track.steps, start=1):
                    if not math.isfinite(step.before):
                        return f"step {number} of {rung}"
        return ""

    def spoilt(self, seen: Seen) -> bool:
        """Return whether a gradient was not finite when an optimizer made the step of `seen`."""
        return self._spoilt is seen

    def _listens(self) -> bool:
        observer = self._observer
        if self._play is not observer.seen:  # what was clipped for a step that never came is another step's
            self._play, self._unclipped, self._spoilt = observer.seen, {}, None
        play = observer.play
        own = threading.get_ident() == self._watch.recorder.main
        return observer.on and own and self.rung in RUNGS and not play.frozen and play.rate == 1.0

    def _clipping(self, original: Any) -> Any:
        def clip(parameters: Any, *arguments: Any, **keywords: Any) -> Any:
            if self._listens():
                tensor = self._watch.torch.Tensor
                parameters = [parameters] if isinstance(parameters, tensor) else list(parameters)
                for each, norm in self._norms(parameters).items():
                    self._unclipped.setdefault(each, norm)
            return original(parameters, *arguments, **keywords)

        return clip

    def _stepping(self, optimizer: Any, arguments: Any = (), keywords: Any = None) -> None:
        """An optimizer is about to step; one with a closure computes its gradients later."""
        closure = len(arguments or ()) > 1 or (keywords or {}).get("closure") is not None
        if not self._listens() or closure:
            return
        own = list(parameters_of(optimizer))
        after = self._norms(own)
        if not after:
            return
        unclipped = {each: self._unclipped.pop(each) for each in after if each in self._unclipped}
        layers = {**after, **unclipped}
        tracks = self.tracks.setdefault(self.rung, {})
        track = tracks.setdefault(frozenset(map(id, own)), Track(type(optimizer).__name__))
        track.steps.append(Step(layers, total(after.values()), asked=bool(unclipped)))
        if not math.isfinite(track.steps[-1].before):
            self._spoilt = self._play

    def _by_hand(self, found: ByHand) -> None:
        """A step is over in which the script may have updated its tensors itself."""
        if (
            not self._observer.seen.steps
            or self.rung not in RUNGS
            or self._observer.play.frozen
            or self._observer.play.rate != 1.0
        ):
            return
        norms = {id(each): norm(self._watch.torch, gradient) for each, gradient in found.gradients()}
        tracks = self.tracks.setdefault(self.rung, {})
        step = Step(norms, total(norms.values()), asked=False)
        tracks.setdefault(frozenset(norms), Track("update by hand")).steps.append(step)
        if not math.isfinite(step.before):
            self._spoilt = self._observer.seen

    def _norms(self, parameters: list[Any]) -> dict[int, float]:
        """The norm of the gradient of each parameter that has a dense one."""
        torch = self._watch.torch
        held = [each for each in parameters if each.grad is not None and not each.grad.is_sparse]
        return {id(each): norm(torch, each.grad) for each in held}
