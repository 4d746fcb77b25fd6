"""What there is to say of a script that may well be right: frozen parts, a loss for numbers on two classes, faint early steps."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from .sampling import samples
from .telling import count, fact, listed, number

if TYPE_CHECKING:
    from collections.abc import Generator

    from .plays import Play, Seen
    from .roles import Roles
    from .stage import Stage

ADVICE = "advice"
"""The group of the facts, which the reporting side shows beside the rungs."""
FEW_SAMPLES = 16  # targets below which two values say nothing
FAINT = 1e-6
"""Part of the largest gradient of a time step below which the first step gets next to none."""
FEW_STEPS = 8  # time steps below which nothing fades
MOST = 3  # parts that are named


def advice(stage: Stage, known: Roles) -> Generator[Play, Seen, list[dict[str, Any]]]:
    """Return the facts; the last of them needs one more repetition of the step."""
    found = [*_frozen(stage), *_two_classes(stage, known)]
    faint = yield from _faint(stage)
    return [*found, *faint]


def frozen_parts(model: Any) -> list[str]:
    """Return the names of the largest parts of a model that are frozen as a whole, and of single frozen parameters elsewhere."""
    found: list[str] = []

    def walk(module: Any, path: str) -> None:
        own = list(module.parameters())
        if own and not any(each.requires_grad for each in own):
            found.append(path or "the whole model")
            return
        found.extend(
            f"{path}.{name}".lstrip(".")
            for name, each in module._parameters.items()
            if each is not None and not each.requires_grad
        )
        for name, part in module.named_children():
            walk(part, f"{path}.{name}".lstrip("."))

    walk(model, "")
    return found


def _frozen(stage: Stage) -> list[dict[str, Any]]:
    """How many parameters of the model that is trained are frozen, and which."""
    model = stage.model
    own = [] if model is None else list(model.parameters())
    frozen = sum(each.numel() for each in own if not each.requires_grad)
    if not frozen:
        return []
    named = [f"`{each}`" for each in frozen_parts(model)]
    rest = [count(len(named) - MOST, "other part")] if len(named) > MOST else []
    text = f"{frozen:,} of {sum(each.numel() for each in own):,} parameters of the model: {listed(named[:MOST] + rest)}"
    return [fact("frozen parameters", text, group=ADVICE)]


def _two_classes(stage: Stage, known: Roles) -> list[dict[str, Any]]:
    """Whether a loss for numbers is given one of two whole numbers for each sample."""
    target, outputs = known.target, known.outputs
    if known.score is None or known.score.called != "mse_loss" or len(stage.optimizers) != 1:
        return []
    if outputs is None or target is None or not outputs.dim() or outputs.numel() != outputs.shape[0]:
        return []
    training = samples(stage, stage.left * 0.1)[:1]
    own = [target, *(part for each in training for path in known.targets for part in each.parts.get(path, ()))]
    values = sorted({float(value) for part in own for value in part.detach().unique().tolist()})
    if sum(part.numel() for part in own) < FEW_SAMPLES or values not in ([0.0, 1.0], [-1.0, 1.0]):
        return []
    text = (
        f"all targets of `mse_loss` are {number(values[0])} or {number(values[1])}: if these are two classes, "
        "`nn.BCEWithLogitsLoss` with targets 0 and 1 usually trains better"
    )
    return [fact("loss", text, group=ADVICE)]


class _Steps:
    """The inputs of recurrent layers in one pass, from which gradients are read afterwards."""

    def __init__(self, torch: Any, model: Any) -> None:
        self._torch = torch
        self.given: dict[str, tuple[Any, Any, bool]] = {}
        layers = [(name, each) for name, each in model.named_modules() if isinstance(each, torch.nn.RNNBase)]
        self.hooks = [each.register_forward_pre_hook(self._hook(name)) for name, each in layers]

    def _hook(self, name: str) -> Any:
        def before(layer: Any, given: tuple[Any, ...]) -> tuple[Any, ...] | None:
            packed = isinstance(given[0], self._torch.nn.utils.rnn.PackedSequence)
            data = given[0].data if packed else given[0]
            if name in self.given or not self._torch.is_grad_enabled() or (not packed and data.dim() != 3):
                return None
            if not data.requires_grad:
                data = data.detach().clone().requires_grad_()
            else:
                data.retain_grad()
            sizes = given[0].batch_sizes if packed else None
            self.given[name] = data, sizes, bool(layer.batch_first)
            return ((given[0]._replace(data=data) if packed else data), *given[1:])

        return before

    def norms(self) -> dict[str, list[float]]:
        """The norm of the gradient of each time step, by the name of the layer; of those that got any."""
        found: dict[str, list[float]] = {}
        for name, (data, sizes, batch_first) in self.given.items():
            if data.grad is None:
                continue
            if sizes is not None:
                steps = data.grad.double().split(sizes.tolist())
            else:
                steps = data.grad.double().unbind(1 if batch_first else 0)
            found[name] = [float(each.norm()) for each in steps]
        return found


def _faint(stage: Stage) -> Generator[Play, Seen, list[dict[str, Any]]]:
    """Whether next to nothing of the gradient reaches the first time step of a recurrent layer."""
    model = stage.model
    if model is None or stage.left < 4 * stage.first.seconds:
        return []
    steps = _Steps(stage.torch, model)
    try:
        if steps.hooks:
            yield from stage.play(frozen=True)
            stage.restore()
    finally:
        for hook in steps.hooks:
            hook.remove()
    found = []
    for name, norms in steps.norms().items():
        largest = max(norms, default=0.0)
        if len(norms) < FEW_STEPS or not 0 < largest < math.inf or norms[0] >= FAINT * largest:
            continue
        text = (
            f"the gradient of the first of {len(norms)} time steps of `{name or 'the model'}` is {number(norms[0])}, "
            f"and the largest {number(largest)}: the start of a sequence is hardly learned; shorten the sequences, or use attention"
        )
        found.append(fact("early time steps", text, group=ADVICE))
    return found
