"""Trains twice in a copy of the process, from the same weights on the same batches: with data as they are, and standardized."""

from __future__ import annotations

import math
from contextlib import contextmanager
from time import process_time
from typing import TYPE_CHECKING, Any, NamedTuple

from ...rehearsal import rehearsals
from ...watching.update.optimizers import parameters_of
from ..parts import tensors
from .column_scale import columns_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...watching.watch import Watch

LEVELS = ((100, (8, 4, 4)), (60, (4, 2)))
"""How many steps copies make with standardized data, and how many times as many with data as they are: with the initial weights
of the script, and with others. The second is for models whose steps take longer."""
LEARNT, HALF = 0.8, 0.5
"""The part of a constant's loss below which a copy has learnt something, and the part of the other one's loss to reach."""
SAME = 0.01  # by the script's loss: what is nearer is the same step
POINTS = 100  # of a curve that are told


class Kept(NamedTuple):
    """A training step: what the model and the loss were given, how the loss's input comes from the output, and its value.

    `root`: what goes backward is the square root of the loss.
    """

    arguments: tuple[Any, ...]
    keywords: dict[str, Any]
    chance: Any
    output: tuple[int, tuple[int, ...], tuple[int, ...]]
    loss: str
    target: Any
    settings: dict[str, Any]
    value: float
    root: bool


class Comparison:
    """Both trainings; `layers` are those that are given data, `clipping` the largest norm of gradients and its kind."""

    def __init__(
        self,
        watch: Watch,
        model: Any,
        optimizer: Any,
        initial: list[tuple[Any, Any]],
        groups: list[dict[str, Any]],
    ) -> None:
        self._watch, self._torch = watch, watch.torch
        self._model, self._optimizer = model, optimizer
        self._initial, self._groups = initial, groups
        self.steps: list[Kept] = []
        self.layers: list[Any] = []
        self.clipping: tuple[float, float] | None = None
        self._inputs: dict[int, tuple[Any, Any]] = {}  # mean and deviation of the columns of each layer's input
        self._target: tuple[Any, Any] | None = None
        self._until = 0.0

    def tell(self, seconds: float, *, inputs: bool, targets: bool) -> None:
        """Train, tell what came of it, and end the process; `inputs` and `targets`: what is to be standardized."""
        self._torch.set_num_threads(1)  # those of the process that was copied are not there
        begun = process_time()
        self._until = begun + seconds
        try:
            learnt = self._compare(inputs=inputs, targets=targets)
        except Exception as error:  # noqa: BLE001 - what fails here says nothing of the script
            learnt = {"unknown": f"{type(error).__name__}: {error}"}
        rehearsals.end({**learnt, "took": process_time() - begun})

    def _compare(self, *, inputs: bool, targets: bool) -> dict[str, Any]:
        self._restore()
        self._measure_targets()
        with self._measuring():
            for step in self.steps:
                self._torch.set_rng_state(step.chance)
                value = self._train(step)
                if not math.isclose(value, step.value, rel_tol=SAME, abs_tol=1e-6) and math.isfinite(step.value):
                    return {"unknown": "a copy does not repeat the script's steps"}
        begun = process_time()
        for step in self.steps:
            self._train(step)
        each = (process_time() - begun) / len(self.steps)
        left = (self._until - process_time()) / max(each, 1e-9)
        for steps, longer in LEVELS:
            if steps * (sum(longer) + len(longer)) <= left:
                return self._trained(steps, longer, inputs=inputs, targets=targets)
        return {"unknown": "a step takes too long"}

    def _trained(self, steps: int, longer: tuple[int, ...], *, inputs: bool, targets: bool) -> dict[str, Any]:
        """Both curves for the script's own weights, and whether all seeds agree."""
        told: dict[str, Any] = {}
        for seed, times in enumerate(longer):
            self._restore()
            if seed:
                self._draw(seed)
            weights = [(each, each.detach().clone()) for each, _ in self._initial]
            standardized = self._run(weights, seed, steps, inputs=inputs, targets=targets)
            raw = self._run(weights, seed, steps * times, inputs=False, targets=False)
            best, end = min(_means(raw, len(self.steps))), _means(standardized, len(self.steps))[-1]
            if not told:
                told = {
                    "raw": _thinned(raw[: 2 * steps]),
                    "standardized": _thinned(standardized),
                    "best": best,
                    "end": end,
                }
                told |= {"steps": steps, "longer": steps * times}
            if best < LEARNT or not _has_learnt(best, end):
                return {**told, "seeds": 0, "what": "both" if inputs and targets else "inputs" if inputs else "targets"}
        return {**told, "seeds": len(longer), "what": self._needed(steps, told["best"], inputs=inputs, targets=targets)}

    def _needed(self, steps: int, best: float, *, inputs: bool, targets: bool) -> str:
        """What has to be standardized, where one of both is enough."""
        for what, one, other in (("targets", False, True), ("inputs", True, False)) if inputs and targets else ():
            self._restore()
            weights = [(each, each.detach().clone()) for each, _ in self._initial]
            if _has_learnt(best, _means(self._run(weights, 0, steps, inputs=one, targets=other), len(self.steps))[-1]):
                return what
        return "both" if inputs and targets else "inputs" if inputs else "targets"

    # --- steps ---

    def _restore(self, weights: list[tuple[Any, Any]] | None = None) -> None:
        """Everything is as before the first step."""
        with self._torch.no_grad():
            for each, values in weights or self._initial:
                each.copy_(values)
        self._optimizer.state.clear()
        for group, kept in zip(self._optimizer.param_groups, self._groups):  # noqa: B905 - as many
            group.update(kept)

    def _draw(self, seed: int) -> None:
        """Other initial weights, where layers can draw them."""
        self._torch.manual_seed(seed)
        for part in self._model.modules():
            if callable(getattr(part, "reset_parameters", None)):
                part.reset_parameters()

    def _run(
        self, weights: list[tuple[Any, Any]], seed: int, steps: int, *, inputs: bool, targets: bool
    ) -> list[float]:
        """Train for some steps; the losses, as parts of the loss of the best constant."""
        self._restore(weights)
        self._torch.manual_seed(seed)
        scale = self._target if targets else None
        least = self._constant(scale)
        losses: list[float] = []
        with self._standardizing() if inputs else self._unchanged():
            for number in range(steps):
                if process_time() > self._until:
                    message = "the time is over"
                    raise TimeoutError(message)
                step = self.steps[number % len(self.steps)]
                part = self._train(step, scale) / least
                losses.append(part * part if step.root else part)
        return losses

    def _train(self, step: Kept, scale: tuple[Any, Any] | None = None) -> float:
        """One step; its loss."""
        own = list(parameters_of(self._optimizer))
        for each in (*own, *self._model.parameters()):
            each.grad = None
        output = tensors(self._model(*step.arguments, **step.keywords))[step.output[0]]
        target = step.target if scale is None else (step.target - scale[0]) / scale[1]
        loss = self._loss(step, output.contiguous().as_strided(*step.output[1:]), target)
        loss.backward()
        if self.clipping is not None:
            self._torch.nn.utils.clip_grad_norm_(own, *self.clipping)
        type(self._optimizer).step(self._optimizer)
        return float(loss.detach())

    def _loss(self, step: Kept, scores: Any, target: Any) -> Any:
        loss = getattr(self._torch.nn.functional, step.loss)(scores, target, **step.settings)
        return loss.sqrt() if step.root else loss

    # --- scales ---

    def _measure_targets(self) -> None:
        """The mean and the deviation of the targets of all batches, by column."""
        first = self.steps[0].target
        if not first.is_floating_point():
            return
        columns = first.shape[-1] if first.dim() > 1 else 1
        whole = self._torch.cat([step.target.reshape(-1, columns) for step in self.steps]).double()
        mean, spread = whole.mean(0), whole.std(0, unbiased=False)
        spread[spread <= 0] = 1.0
        mean, spread = (each.to(first.dtype) for each in (mean, spread))
        self._target = (mean, spread) if first.dim() > 1 else (mean[0], spread[0])

    @contextmanager
    def _measuring(self) -> Iterator[None]:
        """Collects what layers are given meanwhile, and takes its mean and deviation by column."""
        torch, held = self._torch, dict[int, list[Any]]()

        def look(layer: Any, given: tuple[Any, ...]) -> None:
            held.setdefault(id(layer), []).append(columns_of(torch, layer, given[0]))

        handles = [layer.register_forward_pre_hook(look) for layer in self.layers]
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()
        for layer in self.layers:
            whole = torch.cat(held.get(id(layer), [torch.zeros(1, 1)])).double()
            mean, spread = whole.mean(0), whole.std(0, unbiased=False)
            spread[spread <= 1e-9 * mean.abs()] = 1.0
            self._inputs[id(layer)] = mean, spread

    @contextmanager
    def _standardizing(self) -> Iterator[None]:
        """Layers that are given data are given them standardized."""

        def change(layer: Any, given: tuple[Any, ...]) -> tuple[Any, ...]:
            mean, spread = self._inputs[id(layer)]
            conv = isinstance(layer, self._torch.nn.modules.conv._ConvNd) and given[0].dim() > 2  # noqa: PLR2004
            shape = (-1, *[1] * (given[0].dim() - 2)) if conv else (-1,)
            changed = (given[0] - mean.reshape(shape)) / spread.reshape(shape)
            return (changed.to(given[0].dtype), *given[1:])

        handles = [layer.register_forward_pre_hook(change) for layer in self.layers]
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()

    @contextmanager
    def _unchanged(self) -> Iterator[None]:
        yield

    def _constant(self, scale: tuple[Any, Any] | None) -> float:
        """The mean loss over all batches of the constant answer that is best for them, of those that come into question."""
        found = []
        for answer in self._answers(scale):
            losses = []
            for step in self.steps:
                target = step.target if scale is None else (step.target - scale[0]) / scale[1]
                losses.append(float(self._loss(step, answer.expand(step.output[1]).to(self._dtype()), target)))
            found.append(sum(losses) / len(losses))
        least = min(found)
        if not math.isfinite(least) or least <= 0:
            message = "no constant answer is known"
            raise ValueError(message)
        return least

    def _dtype(self) -> Any:
        return next(each.dtype for each in self._model.parameters() if each.is_floating_point())

    def _answers(self, scale: tuple[Any, Any] | None) -> list[Any]:
        """Mean and median of numbers; the frequencies of classes, as logits, logarithms or probabilities."""
        torch, step = self._torch, self.steps[0]
        targets = [each.target if scale is None else (each.target - scale[0]) / scale[1] for each in self.steps]
        if step.loss in ("cross_entropy", "nll_loss") and not step.target.is_floating_point():
            labels = torch.cat([each.reshape(-1) for each in targets])
            classes = step.output[1][1] if len(step.output[1]) > 1 else step.output[1][0]
            counts = torch.bincount(labels[labels >= 0], minlength=classes)[:classes].double() + 1e-3
            logs = (counts / counts.sum()).log()
            return [logs.reshape(-1, *[1] * (len(step.output[1]) - 2)) if len(step.output[1]) > 2 else logs]  # noqa: PLR2004
        whole = torch.cat([each.reshape(-1, each.shape[-1] if each.dim() > 1 else 1) for each in targets]).double()
        if step.loss.startswith("binary"):
            share = whole.mean(0).clamp(1e-6, 1 - 1e-6)
            return [share if step.loss == "binary_cross_entropy" else (share / (1 - share)).log()]
        return [whole.mean(0), whole.median(0).values]


def _has_learnt(best: float, end: float) -> bool:
    """Whether training on standardized data came to a loss that other training did not come near."""
    return end <= LEARNT and end <= HALF * best


def _means(losses: list[float], window: int) -> list[float]:
    """The mean of each pass over all batches; infinite where a loss is not finite."""
    parts = [losses[start : start + window] for start in range(0, len(losses) - window + 1, window)]
    return [sum(part) / window if all(map(math.isfinite, part)) else math.inf for part in parts]


def _thinned(losses: list[float]) -> list[float]:
    """Some of the losses, from all over them; what is not finite ends the curve."""
    finite = next((place for place, each in enumerate(losses) if not math.isfinite(each)), len(losses))
    step = max(1, -(-len(losses) // POINTS))
    return [round(each, 6) for each in losses[:finite:step]]
