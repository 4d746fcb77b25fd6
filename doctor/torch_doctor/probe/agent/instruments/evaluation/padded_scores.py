"""Has copies of the process score predictions that differ where labels are padding or void: does a score count these?"""

from __future__ import annotations

import functools
from time import monotonic
from typing import TYPE_CHECKING, Any

from ...rehearsal import rehearsals
from .oracle_comparisons import COMPARED
from .oracle_copy import Copy
from .oracles import SECONDS
from .oracles import Instrument as Oracles
from .padded_answers import COMPLETE, DEFAULT, ORACLES, OTHERS, WRONG, PaddedForm
from .trainer_scores import TrainerScores

if TYPE_CHECKING:
    from ...loop import Loop
    from ...scopes import Here
    from ...watching.watch import Watch
    from .oracle_copy import BatchTensors

LOSSES = ("CrossEntropyLoss", "NLLLoss", "cross_entropy", "nll_loss")
IGNORE_INDEX = 4  # its place among the arguments of the functions
NEAR = 1e-3
BEST = (1.0, 100.0)
"""What a score is at best, as a share or in percent."""


class PaddedCopy(Copy):
    """Tells also which share of the labels is not left out."""

    _form: Any

    def _learnt(self) -> dict[str, Any]:
        return {**super()._learnt(), "valid": self._form.valid}


class Instrument(Oracles):
    """Remembers which labels the losses leave out, and asks about evaluations whose labels have such among them."""

    def __init__(self, watch: Watch) -> None:
        super().__init__(watch)
        self._ignored = {DEFAULT}

    def _ask_trainers(self) -> None:
        """Has functions asked that score predictions for a trainer."""
        TrainerScores(self.watch, ORACLES, self._form_of, self._passed)

    def on_loss(
        self, loss: str, arguments: tuple[Any, ...], keywords: dict[str, Any], value: Any, here: Here, event: int
    ) -> None:
        """A loss was computed."""
        if loss.rpartition(".")[2] not in LOSSES:
            return
        given = keywords.get("ignore_index", arguments[IGNORE_INDEX] if len(arguments) > IGNORE_INDEX else DEFAULT)
        if isinstance(given, int):
            self._ignored.add(given)

    def _form(self, module: Any, scores: Any, batch: BatchTensors, given: list[Any]) -> Any:
        form = PaddedForm(self.watch.torch, scores, batch.tensors(), self._ignored)
        if form.place >= 0 and scores.device.type != "cpu":
            form.unknown = "the copy of a process cannot use the device"
        return form if form.place >= 0 else None

    def _ask(
        self, module: Any, scores: Any, form: Any, batch: BatchTensors, loop: Loop, *, alone: bool
    ) -> dict[str, Any]:
        learnt: dict[str, Any] = {}
        begun = monotonic()
        for oracle in ORACLES:
            copy = PaddedCopy(self.watch, module, form, batch, oracle)
            left = SECONDS - (monotonic() - begun)
            prepare = functools.partial(copy.begin, scores, loop, alone=False)
            answer = rehearsals.begin(prepare, left) if left > 0 else None
            if answer is rehearsals:
                return {}
            if not answer or "failed" in answer:
                form.unknown = str((answer or {}).get("failed", "the evaluation does not end in a few seconds"))
                break
            learnt[oracle] = answer
        took = monotonic() - begun
        loop.began += took
        self.watch.questions.took(self, took)
        return learnt

    def _tell(self, learnt: dict[str, Any], form: Any, scores: Any, here: Here, loop: Loop, event: int) -> None:
        """Write which figures count such labels, and which are right without them."""
        sites = self.watch.recorder.sites
        known = list(learnt.values()) if len(learnt) == len(ORACLES) else []
        form.unknown = form.unknown or next((each["unknown"] for each in known if each["unknown"]), "")
        found = [{tuple(each[:4]): each[4] for each in answer["figures"]} for answer in known]
        keys = [key for key in (found[0] if found and not form.unknown else ()) if all(key in each for each in found)]
        share, of, valid = (known[0]["share"], known[0]["answers"], known[0]["valid"]) if known else (0.0, 0, [])
        scored = [(sites.whole_line(*key[:2]), [each[key] for each in found]) for key in keys if key[2] != COMPARED]
        form.valid = [*valid, 1 - share]
        self._write(scored, form, share, of, event, here)

    def _form_of(self, scores: Any, labels: Any) -> PaddedForm | None:
        """How answers look that a function scores for a trainer."""
        form = PaddedForm(self.watch.torch, scores, [labels], self._ignored)
        return form if form.place >= 0 else None

    def _passed(self, event: int, site: int, form: Any, figures: dict[str, list[Any]]) -> None:
        """A function was asked how it scores predictions for a trainer."""
        void, of = figures.pop("", [(0, 1)])[0]
        share = void / of
        form.valid = [1 - share]
        self._write(
            [(site, each) for each in figures.values()], form, share, form.labels, event, self.watch.recorder.here()
        )

    def _write(
        self, figures: list[tuple[int, list[float]]], form: Any, share: float, of: int, event: int, here: Here
    ) -> None:
        """Write what figures, each with its place, say of labels of which a share is left out."""
        recorder = self.watch.recorder
        if figures and not share:
            form.unknown = "no label of the evaluation is left out by the loss"
        for site, scores in figures if share else ():
            by = dict(zip(ORACLES, scores))  # noqa: B905 - one for each
            counted = _counts(by, form.valid)
            if counted is not None:
                recorder.event(
                    "PaddingScored",
                    here,
                    site=site,
                    name="",
                    counted=counted,
                    forwards=[event],
                    positions=round(share * of),
                    of=of,
                    right=by[COMPLETE],
                    other=by[OTHERS],
                )
        if form.unknown:
            recorder.event("PaddingScored", here, name="", counted=None, forwards=[event], unknown=form.unknown)


def _counts(scores: dict[str, float], valid: list[float]) -> bool | None:
    """Whether a score counts padding; None where it is no such score. `valid` are shares of the labels that are no padding.

    It does if other predictions there change it, or if it is the share of correct predictions among all labels of some batches.
    """
    right, other, wrong = scores[COMPLETE], scores[OTHERS], scores[WRONG]
    if abs(right - wrong) <= NEAR:
        return None
    if abs(right - other) > NEAR * max(1.0, abs(right)):
        return True
    for best in BEST:
        if abs(right - best) <= NEAR * best:
            return False
        between = best * (min(valid) - NEAR) <= right <= best * (min(max(valid), 1 - NEAR) + NEAR)
        if between and right < best * (1 - NEAR) and abs(wrong) <= NEAR * best:
            return True
    return None
