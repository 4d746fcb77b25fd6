"""Along which axis a function that scores predictions for a trainer normalizes them or chooses among them.

A copy of the process calls it with arrays that tell what is computed of them. Only what has a row for each row of the predictions,
computed element by element, is followed: a table of counts may well be divided by the sums of its columns.
"""

from __future__ import annotations

import functools
import sys
from typing import TYPE_CHECKING, Any

from ... import claims
from ...rehearsal import end_with_changes, rehearsals
from ...sites import Span
from ..instrument import Instrument as Base
from .followed_arrays import FollowedScores
from .given_metrics import GivenMetrics

if TYPE_CHECKING:
    from types import CodeType

    from ...watching.watch import Watch

SECONDS = 4.0


class Instrument(Base):
    """Asks about each such function once, where the predictions are scores of classes, and each label is a class."""

    def __init__(self, watch: Watch) -> None:
        super().__init__(watch)
        GivenMetrics(watch, self._ask)

    def _ask(self, function: Any, code: CodeType, prediction: Any) -> None:
        numpy, recorder = sys.modules.get("numpy"), self.watch.recorder
        scores: Any = getattr(prediction, "predictions", None)
        labels: Any = getattr(prediction, "label_ids", None)
        if numpy is None or not recorder.sites.is_users(code.co_filename) or not _of_classes(numpy, scores, labels):
            return
        followed = FollowedScores(numpy, recorder.sites, scores, labels)
        answer = rehearsals.begin(functools.partial(self._look, function, prediction, followed), SECONDS)
        if answer is not rehearsals and answer and answer.get("found"):
            self._tell(code, scores.shape, answer["found"])

    def _look(self, function: Any, prediction: Any, followed: FollowedScores) -> None:
        """In the process that rehearses: call the function, and end with what was seen, even if it fails."""

        def end() -> None:
            rehearsals.end({"found": followed.found})

        self.watch.torch.set_num_threads(1)  # those of the process that was copied are not there
        end_with_changes(end)
        beside = {name: vars(prediction).get(name) for name in ("inputs", "losses")}
        beside = {name: value for name, value in beside.items() if value is not None}
        try:
            function(type(prediction)(predictions=followed.scores(), label_ids=prediction.label_ids, **beside))
        except Exception:  # noqa: BLE001 - the script's, which fails for itself
            end()
        end()

    def _tell(self, code: CodeType, shape: tuple[int, int], found: list[dict[str, Any]]) -> None:
        recorder = self.watch.recorder
        here, sites = recorder.here(), recorder.sites
        passed = recorder.event(
            "PredictionsPassed", here, site=sites.whole_line(code.co_filename, code.co_firstlineno), classes=True
        )
        fact = {"kind": "logits", "shape": list(shape), "forwards": [passed]}
        for each in found:
            site, dim = sites.number(Span(*each["at"])), each["axis"]
            told = {"function": f"torch.{each['what']}", "input": fact, "dim": dim, "of_array": True}
            if each["what"] == "softmax":
                event = recorder.event("Normalised", here, site=site, **told, size=shape[dim], dim_given=True)
                for claim, bound in ((claims.SMALLEST_SUM, 0), (claims.LARGEST_SUM, 1)):
                    recorder.measured(claim, each["sums"][bound], site=site, about=[event])
            else:
                event = recorder.event("Ranked", here, site=site, **told)
                target = {"kind": "labels", "source": "loader", "shape": [shape[0]]}
                recorder.event("Compared", here, site=sites.number(Span(*each["used"])), chosen=event, target=target)


def _of_classes(numpy: Any, scores: Any, labels: Any) -> bool:
    """Whether there is a score for each of several classes in each of several rows, and a class for each row."""
    if not all(type(each) is numpy.ndarray for each in (scores, labels)) or scores.ndim != 2 or labels.ndim != 1:  # noqa: PLR2004
        return False
    fits = scores.dtype.kind == "f" and labels.dtype.kind in "iu" and len(scores) == len(labels) > 1 < scores.shape[1]
    return bool(fits and labels.min() >= 0 and labels.max() < scores.shape[1])
