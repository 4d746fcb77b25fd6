"""What connects the loss with the weights: which parameters are optimised, get gradients and move, and what the layers answer."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from .magnitude import middle
from .roles import main_score, sides
from .telling import count, fact

if TYPE_CHECKING:
    from .plays import Seen
    from .roles import Roles
    from .stage import Stage

MOST = 40  # layers that are told one by one
TINY = 1e-12
FEW = 1e-7  # an update by less of a weight's size changes nothing that matters


class Wiring:
    """The facts, and in `first` what to look at first; empty where nothing is wrong.

    `certain` is why nothing can be memorised, `dead` the part of the weights that does not learn. `step` is the usual size of
    an update against that of the weights, None where there is none, and `faint` whether most updates are too
    small to matter.
    """

    def __init__(self) -> None:
        self.evidence: list[dict[str, Any]] = []
        self.first = ""
        self.certain = ""
        self.dead = 0.0
        self.step: float | None = None
        self.faint = False

    def wrong(self, what: str) -> None:
        """Something is wrong; the first such thing is what to look at first."""
        self.first = self.first or what


def wiring(stage: Stage, known: Roles, first: Seen, last: Seen | None) -> Wiring:
    """Looks at the parameters at the first and at the last update that was looked at, and at the targets."""
    found = Wiring()
    model = stage.model
    if model is not None:
        _parameters(found, model, first)
    _gradients(found, first, last or first)
    _updates(found, first, last or first)
    found.dead = _dead(model, first, last or first)
    _outputs(found, known, last or first)
    return found


def _parameters(found: Wiring, model: Any, seen: Seen) -> None:
    """Registered, optimised, frozen: in numbers, and by name where they differ."""
    named = dict(model.named_parameters())
    registered = sum(each.numel() for each in named.values())
    trainable = {name: each for name, each in named.items() if each.requires_grad}
    optimised = {name: each for name, each in named.items() if id(each) in seen.optimized}
    found.evidence += [
        fact("parameters of the model", registered, group="parameters"),
        fact("trainable parameters", sum(each.numel() for each in trainable.values()), group="parameters"),
        fact("parameters in the optimizer", sum(each.numel() for each in optimised.values()), group="parameters"),
    ]
    left = [name for name in trainable if name not in optimised]
    frozen = [name for name, each in named.items() if not each.requires_grad]
    if left:
        found.evidence.append(fact("trainable but not in the optimizer", _names(left), group="parameters"))
        found.wrong(
            f"{count(len(left), 'tensor')} of the model's parameters ({_names(left)})"
            f" {'is' if len(left) == 1 else 'are'} not passed to the optimizer"
        )
    if frozen:
        found.evidence.append(fact("frozen", _names(frozen), group="parameters"))
        if not trainable:
            found.wrong("every parameter of the model is frozen")


def _dead(model: Any, first: Seen, last: Seen) -> float:
    """The part of the weights that are to be trained and do not move, or get no gradient, at both looks."""
    total = dead = 0
    for name, each in model.named_parameters() if model is not None else ():
        if not each.requires_grad:
            continue
        looks = [seen.layers.get(name, (None, 0.0, 0.0)) for seen in (first, last)]
        total += each.numel()
        if all((gradient or 0.0) < TINY or moved < TINY for gradient, moved, _ in looks):
            dead += each.numel()
    return dead / total if total else 1.0


def _gradients(found: Wiring, first: Seen, last: Seen) -> None:
    none, zero, bad = [], [], []
    for name, (gradient, _, _) in first.layers.items():
        later = last.layers.get(name, (None, 0.0, 0.0))[0]
        if gradient is None and later is None:
            none.append(name)
        elif not all(math.isfinite(each) for each in (gradient or 0.0, later or 0.0)):
            bad.append(name)
        elif (gradient or 0.0) < TINY and (later or 0.0) < TINY:
            zero.append(name)
    for label, names in (("no gradient", none), ("zero gradients", zero), ("non-finite gradients", bad)):
        if names:
            found.evidence.append(fact(f"with {label}", _names(names), group="gradients", expected="none"))
            found.wrong(f"{_names(names)} {'has' if len(names) == 1 else 'have'} {label}")
    for name, (gradient, _, _) in list(first.layers.items())[:MOST]:
        found.evidence.append(fact(name, gradient, group="gradient norm at the first step"))


def _updates(found: Wiring, first: Seen, last: Seen) -> None:
    still, ratios = [], []
    for place, (name, (gradient, moved, size)) in enumerate(first.layers.items()):
        ratio = moved / size if size > 0 else None
        if place < MOST:
            found.evidence.append(
                fact(name, ratio, group="update-to-weight ratio at the first step", expected="about 0.001")
            )
        if not gradient or ratio is None:
            continue
        ratios.append(ratio)
        later = last.layers.get(name, (None, 0.0, 0.0))
        if ratio < FEW and later[1] / max(size, TINY) < FEW:
            still.append(name)
    found.step = middle(ratios) if ratios else None
    found.faint = not found.first and 2 * len(still) > len(ratios)
    if still:
        found.wrong(f"each update of {_names(still)} is smaller than {FEW:g} of the size of its weights")


def _outputs(found: Wiring, known: Roles, seen: Seen) -> None:
    """Outputs that are all alike, and targets that are."""
    score = main_score(seen)
    target, outputs = known.target, sides(score)[0] if score is not None else known.outputs
    if (
        outputs is not None
        and hasattr(outputs, "is_floating_point")
        and outputs.is_floating_point()
        and outputs.numel()
    ):
        values = outputs.detach().float()
        found.evidence.append(fact("largest output", float(values.abs().max()), group="outputs"))
        bounded = float(values.min()) >= 0 and float(values.max()) <= 1
        if bounded and known.task == "classes" and _are_shares(known, values):
            floor = math.log(math.e + known.classes - 1) - 1
            found.certain = f"its inputs are probabilities, so it cannot go below {floor:.4g}"
            found.first = "remove the softmax: this loss expects logits"
        elif bounded and known.task == "classes":
            found.wrong("the outputs lie between 0 and 1, but this loss expects logits: remove the softmax or sigmoid")
        elif bounded and known.task == "binary":
            flat = float(((values < 1e-4) | (values > 1 - 1e-4)).float().mean())
            found.evidence.append(fact("outputs saturated at 0 or 1", flat, group="outputs"))
        if values.dim() > 1 and values.shape[0] > 1 and float(values.std(0).max()) < TINY:
            found.evidence.append(fact("outputs that differ between samples", 0, group="outputs"))
            found.wrong("the outputs are the same for every sample: they do not depend on the input")
    if target is not None and hasattr(target, "unique") and target.numel():
        kinds = int(target.detach().unique().numel())
        found.evidence.append(fact("distinct targets in the batch", kinds, group="targets"))


def _are_shares(known: Roles, values: Any) -> bool:
    """Whether what cross-entropy is given sums to one in every row."""
    if known.score is None or known.score.called != "cross_entropy" or known.classes < 2 or values.dim() < 2:
        return False
    return float((values.sum(1) - 1).abs().max()) < 1e-4


def _names(names: list[str], most: int = 4) -> str:
    said = ", ".join(f"`{name}`" for name in names[:most])
    return said if len(names) <= most else f"{said} and {len(names) - most} more"
