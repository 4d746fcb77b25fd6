"""How the function that scores predictions for a trainer of `transformers` scores those that are made from the labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .oracle_answers import CLASSES, ORACLES, Form
from .oracle_copy import MODEL
from .padded_answers import DEFAULT
from .trainer_scores import TrainerScores

if TYPE_CHECKING:
    from ...watching.watch import Watch

RETURNED = "returned"
"""How such a figure shows."""


class GivenForm(Form):
    """What the predictions of a trainer are; where labels are left out, any answer will do."""

    def __init__(self, torch: Any, scores: Any, labels: Any) -> None:
        super().__init__(torch, scores, [self._whole(labels)], [])
        self.labels, self.rank = labels, scores.dim()
        if not scores.is_floating_point():
            self.unknown = "the trainer gets predictions that are no scores"

    @property
    def void(self) -> bool:
        """Whether some labels are left out."""
        return bool((self.labels == DEFAULT).any())

    def made(self, oracle: str, output: Any, labels: Any, generator: Any, wrong: Any = None) -> Any:
        """The answers of an oracle."""
        return super().made(oracle, output, self._whole(labels), generator, wrong)

    def right(self, answers: Any, labels: Any) -> tuple[int, int]:
        """How many of the answers are right, and how many there are."""
        return super().right(answers, self._whole(labels))

    @staticmethod
    def _whole(labels: Any) -> Any:
        return labels if labels.is_floating_point() else labels.masked_fill(labels == DEFAULT, 0)


class TrainerAnswers:
    """Has such functions asked, and writes how they score."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        TrainerScores(watch, (MODEL, *ORACLES), self._form, self._tell)

    def _form(self, scores: Any, labels: Any) -> GivenForm:
        return GivenForm(self._watch.torch, scores, labels)

    def _tell(self, event: int, site: int, form: GivenForm, figures: dict[str, list[Any]]) -> None:
        """Write the figures; which share of the answers is right is known where all labels count."""
        recorder, labels = self._watch.recorder, form.labels
        right = figures.pop("", [])
        form.unknown = form.unknown or ("" if figures else "the function returns no numbers")
        for name, scores in figures.items():
            recorder.event(
                "AnswersScored",
                recorder.here(),
                site=site,
                forward=event,
                how=RETURNED,
                name=name,
                figures=scores,
                shares=[] if form.void else [each / of for each, of in right if of],
                answers=int(labels.numel()),
                rows=len(labels),
                batches=1,
                sizes=[int(labels.numel())] * 2,
                kind=form.kind,
                axis=form.axis - form.rank if form.kind == CLASSES else 0,
            )
        if form.unknown:
            recorder.event("AnswersScored", recorder.here(), forward=event, how="", name="", unknown=form.unknown)
