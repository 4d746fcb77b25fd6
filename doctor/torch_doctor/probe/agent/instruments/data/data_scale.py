"""Keeps the first training steps whose inputs or targets have a large scale, and asks what standardized ones would change."""

from __future__ import annotations

import math
import weakref
from typing import TYPE_CHECKING, Any

from ...rehearsal import POSSIBLE, rehearsals
from ...watching.update.optimizers import parameters_of
from ..copies import duplicate, elements
from ..instrument import Instrument as Base
from ..parts import tensors
from .column_scale import ColumnScale, columns_of, scale_of
from .standardized import Comparison, Kept
from .written_loss import DISTANCES, LOSSES, is_value, written

if TYPE_CHECKING:
    from ...scopes import Here
    from ...watching.watch import Watch

STEPS = 6  # that are kept, each with its batch
LARGEST, NUMBERS = 20_000_000, 8_000_000  # parameters of a model, and numbers of all batches, that are kept
SECONDS = 4.0  # that the copies may take, at most
CLOCK = 4.0  # times as long by the clock
LEAST = 0.4  # seconds without which they say nothing


class Instrument(Base):
    """Follows a loop with one model, one loss and one optimizer; anything else is not asked about.

    It is told before `finite`, by its name: where training diverges, it asks before that is reported.
    """

    def __init__(self, watch: Watch) -> None:
        super().__init__(watch)
        nn, torch = watch.torch.nn, watch.torch
        self._layers = (nn.Linear, nn.modules.conv._ConvNd, nn.RNNBase)
        self._handles: list[Any] = []
        self._steps: list[Kept] = []
        self._over = not POSSIBLE
        self._model: Any = None
        self._optimizer: Any = None
        self._data: dict[int, Any] = {}  # layers that are given data, by their id
        self._scales: list[ColumnScale] = []
        self._targets: ColumnScale | None = None
        self._initial: list[tuple[Any, Any]] = []
        self._groups: list[dict[str, Any]] = []
        self._clipping: tuple[float, float] | None = None
        self._place: tuple[Any, int] | None = None
        self._begin()
        for owner in (torch.nn.utils, torch.nn.utils.clip_grad):
            watch.patches.replace(owner, "clip_grad_norm_", self._clips)
            watch.patches.replace(owner, "clip_grad_value_", self._ends)

    def _begin(self) -> None:
        """A step begins."""
        self._forward: tuple[Any, ...] | None = None
        self._output: list[tuple[Any, Any]] = []
        self._chance: Any = None
        self._loss: tuple[Any, ...] | None = None
        self._value: Any = None
        self._number, self._root = 0.0, False
        self._gradients, self._clipped = 0.0, False
        self._passes = 0

    def _end(self) -> None:
        """Nothing is asked: the script is not of a form that a copy can repeat, or nothing strikes."""
        self._over = True
        self._steps, self._initial, self._model, self._optimizer = [], [], None, None
        self._begin()
        self._remove()

    def _remove(self) -> None:
        for handle in self._handles:
            handle.remove()
        self._handles = []

    def _clips(self, original: Any) -> Any:
        def clip_grad_norm_(parameters: Any, max_norm: Any, norm_type: Any = 2.0, *rest: Any, **keywords: Any) -> Any:
            if not self.watch.recorder.quiet:
                self._clipping, self._clipped = (float(max_norm), float(norm_type)), True
            return original(parameters, max_norm, norm_type, *rest, **keywords)

        return clip_grad_norm_

    def _ends(self, original: Any) -> Any:
        def clip_grad_value_(*arguments: Any, **keywords: Any) -> Any:
            if not self.watch.recorder.quiet:
                self._end()
            return original(*arguments, **keywords)

        return clip_grad_value_

    # --- a step ---

    def before_forward(self, module: Any, arguments: tuple[Any, ...], keywords: dict[str, Any], here: Here) -> None:
        """A model is about to train: its layers say what data they are given."""
        self._remove()
        torch = self.watch.torch
        if self._over or not module.training or not torch.is_grad_enabled() or not self._is_model(module):
            return
        given = tensors((arguments, keywords))
        kept = sum(each.numel() for each in given) * STEPS
        plain = all(not each.requires_grad and each.device.type == "cpu" and not each.is_sparse for each in given)
        if self._forward is not None or not plain or kept > NUMBERS or torch.is_autocast_enabled("cpu"):
            self._end()
            return
        self._model = module
        with self.watch.unwatched():
            self._forward = duplicate(torch, (arguments, keywords))
        self._chance = torch.get_rng_state()
        own = [layer for layer in module.modules() if isinstance(layer, self._layers)] if not self._steps else []

        def look(layer: Any, given: tuple[Any, ...]) -> None:  # a function, as copies of the model have it, too
            if not self.watch.recorder.quiet and any(layer is each for each in own):
                self.watch.recorder.safely(self._look, layer, given)

        self._handles = [layer.register_forward_pre_hook(look) for layer in own]

    def _is_model(self, module: Any) -> bool:
        own = self.watch.modules.family(module).parameters
        return bool(own) and self._model in (None, module) and elements(self.watch, own) <= LARGEST

    def _look(self, layer: Any, given: tuple[Any, ...]) -> None:
        """A layer is given something: the scale of its columns, where it is data."""
        torch = self.watch.torch
        if not given or not isinstance(given[0], torch.Tensor) or given[0].requires_grad:
            return
        if id(layer) not in self._data and given[0].is_floating_point() and given[0].numel() > 1:
            with self.watch.unwatched(), torch.no_grad():
                self._data[id(layer)] = layer
                self._scales.append(scale_of(columns_of(torch, layer, given[0])))

    def on_forward(
        self, module: Any, arguments: tuple[Any, ...], keywords: dict[str, Any], output: Any, here: Here, event: int
    ) -> None:
        """It answered."""
        self._remove()
        if not self._over and module is self._model and self._forward is not None and not self._output:
            own = tensors(output)
            self._place = self._place or (here, event)
            with self.watch.unwatched():
                self._output = [(weakref.ref(each), each.detach().clone()) for each in own]
                if self._steps and not all(bool(each.isfinite().all()) for each in own if each.is_floating_point()):
                    self._ask()  # training diverged

    def on_loss(
        self, loss: str, arguments: tuple[Any, ...], keywords: dict[str, Any], value: Any, here: Here, event: int
    ) -> None:
        """A loss was computed."""
        torch = self.watch.torch
        if self._over or self._forward is None or not torch.is_grad_enabled() or not getattr(value, "grad_fn", None):
            return
        last = loss.rpartition(".")[2]
        name = next((each for each, cls in LOSSES.items() if last in (each, cls)), "")
        given = [*arguments, *(keywords[key] for key in ("input", "target") if key in keywords)]
        if not name or self._loss is not None or len(given) != 2 or value.dim():  # noqa: PLR2004 - input and target
            self._end()
            return
        scores, target = given
        place = self._seen_in(scores)
        if place is None or not isinstance(target, torch.Tensor) or target.requires_grad:
            self._end()
            return
        settings = {key: each for key, each in keywords.items() if key not in ("input", "target")}
        self._value = weakref.ref(value)
        self._take(name, target, settings, place, float(value.detach()))

    def _take(self, name: str, target: Any, settings: dict[str, Any], place: Any, number: float) -> None:
        """A loss has this value: keep it, where the scale of something strikes."""
        with self.watch.unwatched(), self.watch.torch.no_grad():
            self._loss = (name, target.detach().clone(), duplicate(self.watch.torch, settings), place)
            if name in DISTANCES and not self._steps and target.is_floating_point() and target.numel() > 1:
                own = target.detach()
                self._targets = scale_of(own.reshape(-1, own.shape[-1] if own.dim() > 1 else 1))
        self._number = number
        if not self._steps and not self._strikes():
            self._end()
        elif self._steps and not math.isfinite(number):
            self._ask()

    def _strikes(self) -> bool:
        return any(each.strikes for each in self._scales) or (self._targets is not None and self._targets.is_far)

    def _seen_in(self, scores: Any) -> tuple[int, tuple[int, ...], tuple[int, ...]] | None:
        """Which tensor of the output a loss is given, and in which form; None for anything computed from it."""
        for number, (reference, _) in enumerate(self._output):
            own = reference()
            if own is None or not own.is_contiguous() or own.dtype != scores.dtype or own.numel() != scores.numel():
                continue
            if own.numel() and own.data_ptr() == scores.data_ptr():
                return number, tuple(scores.shape), tuple(scores.stride())
        return None

    def before_backward(self, losses: list[Any], here: Here) -> None:
        """Something goes backward: the loss, and nothing else."""
        if self._over or self._forward is None:
            return
        self._passes += 1
        plain = len(losses) == 1 and not losses[0].dim()
        if plain and self._loss is None:
            self._look_for_loss(float(losses[0].detach()), here)
        if not plain or self._loss is None or self._over:
            self._end()
        elif self._value is None or losses[0] is not self._value():
            value = float(losses[0].detach())
            self._root = not is_value(value, self._number)
            if self._root and not is_value(value * value, self._number):
                self._end()  # something was added to it
            self._number = value

    def _look_for_loss(self, value: float, here: Here) -> None:
        """No function of torch computed what goes backward: the script may have written it."""
        with self.watch.unwatched(), self.watch.torch.no_grad():
            found = written(self.watch.torch, value, [values for _, values in self._output], here.frame)
            if found is not None:
                name, loss, number, target = found
                self._take(name, target, {}, (number, tuple(target.shape), target.contiguous().stride()), loss)

    def on_backward(self, losses: list[Any], got: list[Any], here: Here, event: int) -> None:
        """It went backward: how large the gradients are that the optimizer is to be given."""
        if not self._over and self._forward is not None:
            self._clipped, self._gradients = False, self._size_of_gradients()

    def _size_of_gradients(self) -> float:
        with self.watch.unwatched(), self.watch.torch.no_grad():
            own = [each.grad for each in self._model.parameters() if each.grad is not None]
            return sum(float(each.abs().sum()) for each in own if not each.is_sparse)

    def before_step(self, optimizer: Any, here: Here) -> None:
        """An optimizer is about to step: what it will change is kept before the first one."""
        if self._over:
            return
        alone = self._optimizer in (None, optimizer) and self._passes == 1
        if not alone or self._forward is None or self._loss is None or self.watch.scaling.built:
            self._end()
            return
        if not self._clipped and math.isfinite(self._gradients) and self._gradients != self._size_of_gradients():
            self._end()
            return
        with self.watch.unwatched(), self.watch.torch.no_grad():
            if self._optimizer is None:
                self._keep(optimizer)
            name, target, settings, place = self._loss
            arguments, keywords = self._forward
            kept = Kept(arguments, keywords, self._chance, place, name, target, settings, self._number, self._root)
            self._steps.append(kept)
        self._begin()
        if len(self._steps) == STEPS:
            self._ask()

    def _keep(self, optimizer: Any) -> None:
        """The state in which training begins."""
        self._optimizer = optimizer
        own = {id(each): each for each in parameters_of(optimizer)}
        held = {**own, **{id(each): each for each in (*self._model.parameters(), *self._model.buffers())}}
        self._initial = [(each, each.detach().clone()) for each in held.values()]
        self._groups = [
            {key: each for key, each in group.items() if key != "params"} for group in optimizer.param_groups
        ]

    def at_end(self, error: BaseException | None) -> None:
        """The script ended."""
        if not self._over and len(self._steps) > 1 and not self.watch.recorder.caps.stopping:
            self._ask()

    # --- the question ---

    def _ask(self) -> None:
        """Have a copy of the process train on both, and write what came of it."""
        seconds = min(SECONDS, self.watch.questions.left())
        steps, place = self._steps, self._place
        if rehearsals.under_way or seconds < LEAST or place is None:
            self._end()
            return
        inputs = any(each.strikes for each in self._scales)
        targets = self._targets is not None and self._targets.is_far
        comparison = Comparison(self.watch, self._model, self._optimizer, self._initial, self._groups)
        comparison.steps, comparison.layers, comparison.clipping = steps, list(self._data.values()), self._clipping
        learnt = rehearsals.begin(lambda: comparison.tell(seconds, inputs=inputs, targets=targets), CLOCK * seconds)
        self.watch.questions.took(self, (learnt or {}).get("took", seconds))
        if learnt and not learnt.get("unknown") and "raw" in learnt:
            here, event = place
            widest = max(self._scales, key=lambda each: each.largest, default=())
            self.watch.recorder.event(
                "ScaleCompared",
                here,
                forward=event,
                name=self.watch.recorder.caller(here.site).removesuffix(".forward"),
                inputs=list(widest),
                targets=list(self._targets or ()),
                **{key: each for key, each in learnt.items() if key != "took"},
            )
        self._end()
