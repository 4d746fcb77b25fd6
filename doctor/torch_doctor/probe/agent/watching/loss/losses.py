"""Losses of torch: what they are given."""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING, Any

from ... import claims
from ..instrument_hooks import InstrumentHooks
from ..marks import Mark, on_node
from ..naming import nearest

if TYPE_CHECKING:
    from ..watch import Watch

LOGITS, BOUNDED, LOG_PROBABILITIES, ANY = "logits", "bounded by a sigmoid", "log-probabilities", "unknown"
EXPECTS = {
    "cross_entropy": LOGITS,
    "multi_margin_loss": LOGITS,
    "multilabel_margin_loss": LOGITS,
    "multilabel_soft_margin_loss": LOGITS,
    "soft_margin_loss": LOGITS,
    "binary_cross_entropy_with_logits": LOGITS,
    "binary_cross_entropy": BOUNDED,
    "nll_loss": LOG_PROBABILITIES,
    "kl_div": LOG_PROBABILITIES,
    "ctc_loss": LOG_PROBABILITIES,
    "mse_loss": ANY,
    "l1_loss": ANY,
    "smooth_l1_loss": ANY,
    "huber_loss": ANY,
    "poisson_nll_loss": ANY,
    "gaussian_nll_loss": ANY,
    "hinge_embedding_loss": ANY,
    "cosine_embedding_loss": ANY,
    "margin_ranking_loss": ANY,
    "triplet_margin_loss": ANY,
    "triplet_margin_with_distance_loss": ANY,
    "linear_cross_entropy": ANY,
}
"""What each loss expects of its input, by the name of its function in `torch.nn.functional`."""

TARGETS = {"cosine_embedding_loss": 2, "margin_ranking_loss": 2, "linear_cross_entropy": 2}
"""The position of the target, where it is not 1."""
DISTANCES = frozenset(("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"))
LARGEST = 4096  # numbers of a target that are looked at
MOST_NUMBERS = 4_000_000  # of a target whose samples are looked at
WITHOUT_TARGET = frozenset({"triplet_margin_loss", "triplet_margin_with_distance_loss"})


RANGED = frozenset({"nll_loss", "binary_cross_entropy", "binary_cross_entropy_with_logits", "kl_div", "cross_entropy"})
"""Losses whose input is looked at for the numbers in it."""
PROOFS = 4  # calls at one place that are looked at so


class Watcher:
    """Wraps the losses of `torch.nn.functional`, through which those of `torch.nn` go."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._recorder = watch.recorder
        self._busy = False
        self._wholes: dict[int, int] = {}
        self._own = watch.torch.nn.modules.loss.__file__
        self._ranged: dict[int, int] = {}

    def install(self) -> None:
        """Puts the wrappers in place."""
        for name in EXPECTS:
            self._watch.patches.replace(self._watch.torch.nn.functional, name, self._wrapping(name))

    def _wrapping(self, name: str) -> Any:
        recorder, told = self._recorder, self._told

        def wrap(original: Any) -> Any:
            def loss(*arguments: Any, **keywords: Any) -> Any:
                if self._busy or recorder.quiet or recorder.rests():
                    return original(*arguments, **keywords)
                self._busy = True
                try:
                    value = original(*arguments, **keywords)
                except Exception as error:
                    recorder.safely(told, name, arguments, keywords, None, f"{type(error).__name__}: {error}")
                    raise
                finally:
                    self._busy = False
                recorder.safely(told, name, arguments, keywords, value)
                return value

            return loss

        return wrap

    def _told(
        self, name: str, arguments: tuple[Any, ...], keywords: dict[str, Any], value: Any, raised: str = ""
    ) -> None:
        recorder, facts = self._recorder, self._watch.facts
        caller = sys._getframe(3).f_code.co_filename
        if caller != self._own and not recorder.sites.is_users(caller):
            return  # within a library: not the user's choice
        here = recorder.here()
        if here.frame is None:
            return
        loss = f"torch.nn.functional.{name}"
        if caller == self._own and self._watch.forwards.calling:
            cls = nearest(type(self._watch.forwards.calling[-1]), "torch.nn.")
            loss = f"torch.nn.{cls.__name__}" if cls is not None else loss
        batches = "loader" if any(loop.batches for loop in here.loops) else ""
        given = [*arguments, *(value for key, value in keywords.items() if key not in {"weight", "reduction"})]
        place = TARGETS.get(name, 1)
        target = keywords.get("target", given[place] if place < len(given) and name not in WITHOUT_TARGET else None)
        site = here.site
        spelled_input = recorder.argument(site, 0, "input")
        spelled_target = recorder.argument(site, place, "target") if name not in WITHOUT_TARGET else ""
        scores = given[0] if given else None
        self._watch.memory.used((scores, target))
        first = facts.of(scores, spelled_input) | facts.meta(scores)
        second = facts.of(target, spelled_target, source=batches) | facts.meta(target)
        made = Mark(kind="loss", operation_at=site, operation=loss)
        if getattr(value, "grad_fn", None) is not None:
            on_node(value.grad_fn)["made"] = made
            self._watch.differences.compared(value, scores, target)
        elif value is not None:
            forwards = frozenset(first.get("forwards", ())) | frozenset(second.get("forwards", ()))
            self._watch.marks.update(value, kind="loss", operation_at=site, operation=loss, forwards=forwards)
        event = recorder.event(
            "LossCalled",
            here,
            loss=loss,
            name=recorder.caller(site),
            expects=EXPECTS[name],
            input=first,
            target=second,
            output=facts.of(value),
            raised=raised.partition("\n")[0],
            reduction=_reduction(arguments, keywords),
        )
        self._measure(name, scores, event, site)
        if name == "cross_entropy" and (second.get("loader") or self._is_of_batch(target)):
            self._several(scores, target, event, site)
        if name in DISTANCES:
            self._whole(scores, target, event, site)
        if raised:
            return
        self._watch.tell(InstrumentHooks.on_loss, loss, arguments, keywords, value, here, event)

    def _whole(self, scores: Any, target: Any, event: int, site: int) -> None:
        """Whether what several columns are compared with are whole numbers, for the first calls at a place."""
        torch, recorder = self._watch.torch, self._recorder
        if self._wholes.get(site, 0) >= PROOFS or not all(isinstance(each, torch.Tensor) for each in (scores, target)):
            return
        few, many = sorted((scores, target), key=lambda tensor: tensor.numel())
        if few.requires_grad or not few.numel() or few.numel() > LARGEST or few.numel() == many.numel():
            return
        self._wholes[site] = self._wholes.get(site, 0) + 1
        with torch.no_grad():
            whole = few == few.round() if few.is_floating_point() else few >= 0
            if bool(whole.all()) and float(few.min()) >= 0:
                recorder.measured(claims.LARGEST_WHOLE_TARGET, float(few.max()), site=site, about=[event])
            else:
                recorder.measured(claims.TARGETS_NO_LABELS, int((~whole | (few < 0)).sum()), site=site, about=[event])

    def _is_of_batch(self, target: Any) -> bool:
        """Whether a target has the numbers of a tensor of the last batch: a copy or a conversion says not where it is from."""
        torch = self._watch.torch
        if not isinstance(target, torch.Tensor) or target.dim() < 2 or target.numel() > MOST_NUMBERS:  # noqa: PLR2004
            return False
        with self._watch.unwatched(), torch.no_grad():
            alike = (each for each in self._watch.loaders.latest if each.shape == target.shape)
            return any(bool((each.to(target) == target).all()) for each in alike)

    def _several(self, scores: Any, target: Any, event: int, site: int) -> None:
        """How many samples have several classes: their target in the data is 1 for each, and 0 for the others.

        A script that computes such targets, as contrastive losses do for pairs, has them on purpose.
        """
        if target.shape != scores.shape or not target.is_floating_point() or target.dim() < 2:  # noqa: PLR2004
            return
        if target.numel() > MOST_NUMBERS:
            return
        with self._watch.torch.no_grad():
            if bool(((target == 0) | (target == 1)).all()):
                several = int((target.sum(1) > 1).sum())
                self._recorder.measured(claims.SEVERAL_CLASSES, several, "samples", site=site, about=[event])

    def _measure(self, name: str, given: Any, event: int, site: int) -> None:
        """Between what the input of a loss lies that takes only some numbers, for the first calls at a place."""
        torch, recorder = self._watch.torch, self._recorder
        if name not in RANGED or self._ranged.get(site, 0) >= PROOFS or not isinstance(given, torch.Tensor):
            return
        if not given.is_floating_point() or not given.numel():
            return
        self._ranged[site] = self._ranged.get(site, 0) + 1
        with torch.no_grad():
            values = given.detach()
            numbers = {claims.SMALLEST_INPUT: values.min(), claims.LARGEST_INPUT: values.max()}
            if name in {"nll_loss", "kl_div"} and values.dim() > 1:
                numbers[claims.LARGEST_SUM] = values.float().logsumexp(1).exp().max()
                numbers[claims.SMALLEST_SUM] = values.float().logsumexp(1).exp().min()
        for claim, value in numbers.items():
            if math.isfinite(float(value)):
                recorder.measured(claim, float(value), site=site, about=[event])


def _reduction(arguments: tuple[Any, ...], keywords: dict[str, Any]) -> str:
    """How the function was told to sum up; "" where it was told in the old way, or by position."""
    old = keywords.get("size_average") is not None or keywords.get("reduce") is not None
    by_position = len(arguments) > 2  # noqa: PLR2004 - input and target
    return "" if old or (by_position and "reduction" not in keywords) else str(keywords.get("reduction", "mean"))
