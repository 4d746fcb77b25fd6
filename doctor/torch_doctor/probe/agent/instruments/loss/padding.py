"""Computes losses again without what padding has put among their targets: does it count?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..copies import copied, elements
from ..data.padded import ending, padded_in
from ..instrument import Instrument as Base
from .known_ends import KnownEnds
from .own_losses import OwnLosses

if TYPE_CHECKING:
    from ...scopes import Here
    from ...watching.watch import Watch

MOST = 3  # losses of one place that are computed again
LOSSES = {
    "torch.nn.CrossEntropyLoss": "cross_entropy",
    "torch.nn.functional.cross_entropy": "cross_entropy",
    "torch.nn.NLLLoss": "nll_loss",
    "torch.nn.functional.nll_loss": "nll_loss",
}
DISTANCES = {
    *(f"torch.nn.{name}" for name in "MSELoss L1Loss SmoothL1Loss HuberLoss".split()),
    *(f"torch.nn.functional.{name}" for name in "mse_loss l1_loss smooth_l1_loss huber_loss".split()),
}
IGNORE_INDEX = 4  # its place among the arguments of these functions
IGNORED = -100
"""The label that models leave out which compute their loss themselves: the default of `ignore_index`.

https://docs.pytorch.org/docs/stable/generated/torch.nn.CrossEntropyLoss.html
"""
LARGEST = 50_000_000  # parameters of a model that is copied
MATRIX = 2  # dimensions of labels: rows and places


class Instrument(Base):
    """Looks for padding in the targets of losses over classes."""

    def __init__(self, watch: Watch) -> None:
        super().__init__(watch)
        self._padded = padded_in(watch)
        self._ends = KnownEnds(watch, self._padded)
        self._own = OwnLosses(watch)
        self._done: dict[int, int] = {}

    def before_forward(self, module: Any, arguments: tuple[Any, ...], keywords: dict[str, Any], here: Here) -> None:
        """A model gets tokens: those of padding are remembered."""
        self._padded.given(module, arguments, keywords)
        self._ends.given(arguments, keywords)

    def on_batch(self, batch: Any, here: Here, event: int) -> None:
        """A loader gave another batch."""
        self._ends.forget()

    def on_forward(
        self, module: Any, arguments: tuple[Any, ...], keywords: dict[str, Any], output: Any, here: Here, event: int
    ) -> None:
        """A model has computed the loss of its labels: where padding is among them, a copy computes it with it and without."""
        torch, labels = self.watch.torch, keywords.get("labels")
        loss = getattr(output, "loss", None)
        if self._done.get(here.site, 0) >= MOST or not isinstance(loss, torch.Tensor) or loss.numel() != 1:
            return
        if not isinstance(labels, torch.Tensor) or labels.is_floating_point() or labels.dim() != MATRIX:
            return
        with self.watch.unwatched(), torch.no_grad(), torch.random.fork_rng(devices=[]):
            padding = self._padded.among(labels)
            padding = _trailing(module, labels) if padding is None else padding
            if padding is None or not bool(padding.any()) or bool(padding.all()):
                return
            self._done[here.site] = self._done.get(here.site, 0) + 1
            if elements(self.watch, self.watch.modules.family(module).parameters) > LARGEST:
                return
            twin, given = copied(self.watch, module).eval(), copied(self.watch, (arguments, keywords))
            before, after = (
                float(twin(*given[0], **{**given[1], "labels": each}).loss)
                for each in (labels, labels.masked_fill(padding, IGNORED))
            )
        recorder = self.watch.recorder
        fields: dict[str, Any] = {
            "name": recorder.caller(here.site),
            "target": recorder.argument(here.site, len(arguments), "labels"),
            "counted": abs(before - after) > 1e-6 * max(1.0, abs(before)),
            "within": True,
            "trains": loss.requires_grad,
            "positions": int(padding.sum()),
            "of": labels.numel(),
            "before": before,
            "after": after,
        }
        self._own.say(loss, lambda: recorder.event("PaddedTargets", here, **fields))

    def on_backward(self, losses: list[Any], got: list[Any], here: Here, event: int) -> None:
        """Gradients have come back, perhaps to the loss of a model."""
        self._own.went_backward()
        self._ends.forget()

    def on_loss(
        self, loss: str, arguments: tuple[Any, ...], keywords: dict[str, Any], value: Any, here: Here, event: int
    ) -> None:
        """A loss was computed: where padding is among its targets, it is computed once more without it."""
        function = LOSSES.get(loss)
        if self._done.get(here.site, 0) >= MOST or not self._padded or value.numel() != 1:
            return
        scores = arguments[0] if arguments else keywords.get("input")
        target = arguments[1] if len(arguments) > 1 else keywords.get("target")
        if loss in DISTANCES:
            self._compared(scores, target, value, here)
        if function is None or target is None or target.is_floating_point() or target.numel() == value.numel():
            return
        with self.watch.unwatched(), self.watch.torch.no_grad():
            known = self._padded.among(target)
            padding = self._padded.beside(target) if known is None else known
            if padding is None or not bool(padding.any()) or bool(padding.all()):
                return
            if not self._ends.anywhere() or self._ends.at_once(scores, target.numel()):
                return
            self._done[here.site] = self._done.get(here.site, 0) + 1
            ignored = keywords.get("ignore_index", arguments[IGNORE_INDEX] if len(arguments) > IGNORE_INDEX else -100)
            compute = getattr(self.watch.torch.nn.functional, function)
            others = {name: given for name, given in keywords.items() if name not in ("input", "target")}
            after = compute(scores, target.masked_fill(padding, ignored), *arguments[2:], **others)
        before, without = float(value.detach()), float(after)
        recorder = self.watch.recorder
        recorder.event(
            "PaddedTargets",
            here,
            name=recorder.caller(here.site),
            target=recorder.argument(here.site, 1, "target"),
            counted=abs(before - without) > 1e-6 * max(1.0, abs(before)),
            trains=value.requires_grad,
            inferred=known is None,
            positions=int(padding.sum()),
            of=target.numel(),
            before=before,
            after=without,
        )

    def _compared(self, scores: Any, target: Any, value: Any, here: Here) -> None:
        """A loss has compared numbers one by one: where padding is among the targets, do the predictions differ from it?"""
        if scores is None or target is None or scores.shape != target.shape or target.requires_grad:
            return
        with self.watch.unwatched(), self.watch.torch.no_grad():
            known = self._padded.entry(target)
            behind = self._padded.between(target) if known is None else self._padded.of(target)
            if behind is None or not bool(behind.any()) or bool(behind.all()) or (known is not None and known.telling):
                return
            apart = (scores.detach() - target).cpu().abs()[behind]
            if bool((apart > 0).any()) and known is not None and not self._ends.beside(target):
                return
        self._done[here.site] = self._done.get(here.site, 0) + 1
        recorder = self.watch.recorder
        recorder.event(
            "PaddedTargets",
            here,
            name=recorder.caller(here.site),
            target=recorder.argument(here.site, 1, "target"),
            counted=bool((apart > 0).any()),
            compares=True,
            trains=value.requires_grad,
            inferred=known is None,
            positions=int(behind.sum()),
            of=behind.numel(),
            before=float(apart.mean()),
        )


def _trailing(module: Any, labels: Any) -> Any:
    """Where labels end with the number that a translator writes for padding; None for any other model."""
    config = getattr(module, "config", None)
    fill = getattr(config, "pad_token_id", None)
    if not getattr(config, "is_encoder_decoder", False) or not isinstance(fill, int):
        return None
    return ending(labels, fill)
