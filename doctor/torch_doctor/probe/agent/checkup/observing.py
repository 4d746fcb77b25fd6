"""What one repetition of the script's step shows: losses, gradients, updates, and where the time goes."""

from __future__ import annotations

import gc
import importlib
import threading
import weakref
from contextlib import contextmanager
from time import perf_counter, process_time
from typing import TYPE_CHECKING, Any

from ..instruments.copies import evaluating
from ..watching.loss.losses import EXPECTS
from ..watching.update.optimizers import parameters_of
from .magnitude import norm
from .plays import MOST, PARTS, SENTINEL, Call, Play, Seen, Sentinel

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..watching.watch import Watch
    from .by_hand import ByHand


class Observer:
    """Listens to models, losses, backward passes and optimizers while it is `on`."""

    def __init__(self, watch: Watch) -> None:
        self.watch = watch
        self.torch = watch.torch
        self.on = True
        self.play = Play(keep=True)
        self.seen = Seen()
        self.before_first_step: Any = None
        self.after_step: Any = None
        self.updated_by_hand: Any = lambda _: None
        self.rates: dict[tuple[int, int], float] = {}
        self.by_hand: ByHand | None = None
        self.around: Any = list  # the loops under way
        self._depth = dict.fromkeys(PARTS, 0)
        self._began = self._worked = 0.0
        self._within: list[float] = []  # the seconds of other parts in each that is under way
        self._before: dict[int, Any] = {}
        self._graphs: list[weakref.ref[Sentinel]] | None = None
        self._held: list[tuple[Any, Any]] = []  # groups with their rates
        self._gradients: list[tuple[Any, Any]] = []

    def install(self) -> None:
        """Wraps what is listened to, around what watches it already."""
        torch, patches = self.torch, self.watch.patches
        patches.replace(torch.nn.Module, "__call__", self._calling)
        patches.replace(torch.Tensor, "backward", self._going_back)
        patches.replace(torch.autograd, "backward", self._going_back)
        for name in EXPECTS:
            patches.replace(torch.nn.functional, name, self._scoring(name))
        scaler = getattr(getattr(torch, "amp", None), "GradScaler", None) or torch.cuda.amp.GradScaler
        patches.replace(scaler, "scale", self._scaling)
        hooks = importlib.import_module("torch.optim.optimizer")
        self.watch.patches.hook(hooks.register_optimizer_step_pre_hook, self._before_step)
        self.watch.patches.hook(hooks.register_optimizer_step_post_hook, self._after_step)

    def begin(self, play: Play) -> None:
        """The script is about to repeat its step."""
        self.play, self.seen, self.on = play, Seen(), True
        self._depth = dict.fromkeys(PARTS, 0)
        if self.by_hand is not None:
            self.by_hand.begin()
        self._within, self._worked = [], process_time()
        self._began = self._now()

    def end(self) -> Seen:
        """It did."""
        self.on = False
        self.seen.seconds = self._now() - self._began
        self.seen.worked = process_time() - self._worked
        if self.by_hand is not None:
            self._before = self.by_hand.finish(self.play, self.seen)
            self.updated_by_hand(self.by_hand)
            if self.play.details and self.by_hand.optimizer is not None:
                self._look(self.by_hand.optimizer)
        return self.seen

    def watches_graphs(self, *, start: bool) -> None:
        """Begins, or ends, to count the graphs that go backward."""
        self._graphs = [] if start else None

    def graphs_alive(self) -> int:
        """How many graphs that went backward since are still held by somebody."""
        gc.collect()
        return sum(each() is not None for each in self._graphs or ())

    def _now(self) -> float:
        if self.torch.cuda.is_available() and self.torch.cuda.is_initialized():
            self.torch.cuda.synchronize()
        return perf_counter()

    @contextmanager
    def _timed(self, part: str) -> Iterator[None]:
        self._depth[part] += 1
        start, peaks = self._now(), self.play.peaks
        self._within.append(0.0)
        if peaks is not None:
            peaks.enter(part)
        try:
            yield
        finally:
            self._depth[part] -= 1
            self._spent(part, self._now() - start, self._within.pop())
            if peaks is not None:
                peaks.leave()

    def _spent(self, part: str, took: float, within: float = 0.0) -> None:
        self.seen.spent[part] += took - within
        if self._within:
            self._within[-1] += took

    def _listens(self, part: str) -> bool:
        own = threading.get_ident() == self.watch.recorder.main
        return self.on and own and not self._depth[part] and not self._depth["optimizer"]

    # --- models and losses ---

    def _calling(self, original: Any) -> Any:
        losses = self.watch.torch.nn.modules.loss._Loss

        def __call__(module: Any, *arguments: Any, **keywords: Any) -> Any:  # noqa: N807
            if isinstance(module, losses):
                if not self._listens("loss"):
                    return original(module, *arguments, **keywords)
                with self._timed("loss"):
                    return original(module, *arguments, **keywords)
            if not self._listens("forward") or self.torch.jit.is_tracing():
                return original(module, *arguments, **keywords)
            if next(iter(module.parameters()), None) is None:
                return original(module, *arguments, **keywords)
            self._look_for_autocast(next(module.parameters()).device.type)
            with self._mode(module), self._timed("forward"):
                result = original(module, *arguments, **keywords)
            if self.play.keep or self.play.details:
                self.seen.models.append(Call(module, arguments, keywords, result))
                del self.seen.models[:-MOST]
            return result

        return __call__

    def _look_for_autocast(self, kind: str) -> None:
        asked = hasattr(self.torch, "get_autocast_dtype")  # an older torch cannot be asked
        if asked and self.torch.is_autocast_enabled(kind):
            self.seen.autocast = self.torch.get_autocast_dtype(kind)

    @contextmanager
    def _mode(self, module: Any) -> Iterator[None]:
        """The model in evaluation mode, where the step is repeated to evaluate."""
        if not self.play.evaluate:
            yield
            return
        with evaluating(module):
            yield

    def _scoring(self, name: str) -> Any:
        def wrap(original: Any) -> Any:
            def loss(*arguments: Any, **keywords: Any) -> Any:
                if not self.on or self._depth["optimizer"] or self._depth["forward"] > 1:
                    return original(*arguments, **keywords)
                if self._depth["loss"]:
                    value = original(*arguments, **keywords)
                else:
                    with self._timed("loss"):
                        value = original(*arguments, **keywords)
                if self.play.keep or self.play.details:
                    self.seen.scores.append(Call(name, arguments, keywords, value))
                    del self.seen.scores[:-MOST]
                return value

            return loss

        return wrap

    # --- backward ---

    def _scaling(self, original: Any) -> Any:
        def scale(scaler: Any, outputs: Any) -> Any:
            result = original(scaler, outputs)
            if self.on and isinstance(result, self.torch.Tensor):
                result._torch_doctor_loss = outputs.detach()
            return result

        return scale

    def _going_back(self, original: Any) -> Any:
        def backward(*arguments: Any, **keywords: Any) -> Any:
            if not self.on or self._depth["backward"] or threading.get_ident() != self.watch.recorder.main:
                return original(*arguments, **keywords)
            given = arguments[0] if arguments else keywords.get("tensors")
            losses = list(self.watch.marks.tensors(given))
            for each in losses:
                if each.numel() == 1:
                    self.seen.losses.append(float(getattr(each, "_torch_doctor_loss", each).detach()))
                if self._graphs is not None and each.grad_fn is not None and not self.play.evaluate:
                    each.grad_fn.metadata[SENTINEL] = sentinel = Sentinel()
                    self._graphs.append(weakref.ref(sentinel))
            with self._timed("backward"):
                result = original(*arguments, **keywords)
            if self.by_hand is not None:
                self.watch.recorder.safely(self.by_hand.filled, losses, self.around())
            return result

        return backward

    # --- updates ---

    def _before_step(self, optimizer: Any, arguments: Any = (), keywords: Any = None) -> Any:
        self._depth["optimizer"] += self.on
        if not self.on or self._depth["optimizer"] > 1:
            return None
        self.watch.recorder.safely(self._prepare, optimizer)
        if self.play.peaks is not None:
            self.play.peaks.enter("optimizer")
        self._step_began = self._now()
        if keywords and callable(keywords.get("closure")):
            return arguments, {**keywords, "closure": self._closing(keywords["closure"], optimizer)}
        if len(arguments) > 1 and callable(arguments[1]):
            return (arguments[0], self._closing(arguments[1], optimizer), *arguments[2:]), keywords or {}
        return None

    def _closing(self, closure: Any, optimizer: Any) -> Any:
        """The closure of a step: the model, the loss and the backward pass run in it, after the update began."""

        def closing() -> Any:
            depth, self._depth["optimizer"] = self._depth["optimizer"], 0
            start = self._now()
            try:
                return closure()
            finally:
                self._depth["optimizer"] = depth
                self._step_began += self._now() - start
                self.watch.recorder.safely(self._freeze, optimizer)

        return closing

    def _prepare(self, optimizer: Any) -> None:
        if self.before_first_step is not None:
            self.before_first_step(optimizer)
        parameters = list(parameters_of(optimizer))
        if self.play.details:
            self._before = {id(each): each.detach().clone() for each in parameters}
        self._gradients = []
        self._freeze(optimizer)
        for number, group in enumerate(optimizer.param_groups):
            if "lr" in group:
                self._held.append((group, group["lr"]))
                given = group["lr"]
                rate = self.rates.get((id(optimizer), number), float(given))  # one that the step builds has its own
                wanted = rate * self.play.rate
                tensor = isinstance(given, self.torch.Tensor)
                group["lr"] = self.torch.full_like(given, wanted) if tensor else wanted

    def _freeze(self, optimizer: Any) -> None:
        """Takes the gradients away, where the update is to change nothing."""
        if self.play.frozen:
            own = [(each, each.grad) for each in parameters_of(optimizer) if each.grad is not None]
            self._gradients += own
            for each, _ in own:
                each.grad = None

    def _after_step(self, optimizer: Any, *_: Any) -> None:
        self._depth["optimizer"] = max(0, self._depth["optimizer"] - self.on)
        if not self.on or self._depth["optimizer"]:
            return
        self._spent("optimizer", self._now() - self._step_began)
        if self.play.peaks is not None:
            self.play.peaks.leave()
        self.seen.steps += 1
        self.seen.optimizers.append(optimizer)
        self.watch.recorder.safely(self._finish, optimizer)
        if self.after_step is not None:
            self.watch.recorder.safely(self.after_step, optimizer)

    def _finish(self, optimizer: Any) -> None:
        for group, rate in self._held:
            group["lr"] = rate
        for each, gradient in self._gradients:
            each.grad = gradient
        self._held, self._gradients = [], []
        if self.play.details:
            self._look(optimizer)

    def _look(self, optimizer: Any) -> None:
        with self.torch.no_grad():
            self.seen.optimized.update(map(id, parameters_of(optimizer)))
            for call in self.seen.models:
                for name, each in call.called.named_parameters():
                    before = self._before.get(id(each))
                    moved = 0.0 if before is None else norm(self.torch, each.detach() - before)
                    own = each.grad if self.by_hand is None else self.by_hand.gradient(each)
                    gradient = None if own is None else norm(self.torch, own)
                    if name not in self.seen.layers or before is not None:
                        self.seen.layers[name] = gradient, moved, norm(self.torch, each)
        self._before = {}
