"""Has copies of the process call the function that scores predictions for a trainer of `transformers`, with other predictions."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from ...rehearsal import end_with_changes, rehearsals
from .given_metrics import GivenMetrics
from .oracle_copy import MODEL, SEED

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import CodeType

    from ...watching.watch import Watch

SECONDS = 4.0


class TrainerScores:
    """Asks such functions, the first time that each is called.

    `form` makes of predictions and labels how answers to them look, None where nothing is to be asked; `tell` gets the event and
    the place of the function, the form, and for each of the `oracles` the numbers that it returned by their names. "" names
    how many answers are right, and how many there are.
    """

    def __init__(
        self,
        watch: Watch,
        oracles: Sequence[str],
        form: Callable[[Any, Any], Any],
        tell: Callable[[int, int, Any, dict[str, list[Any]]], None],
    ) -> None:
        self._watch = watch
        self._oracles = oracles
        self._form = form
        self._tell = tell
        GivenMetrics(watch, self._ask)

    def _ask(self, function: Any, code: CodeType, prediction: Any) -> None:
        """Let copies score predictions that are made from the labels."""
        torch, recorder = self._watch.torch, self._watch.recorder
        arrays = [getattr(prediction, name, None) for name in ("predictions", "label_ids")]
        scores, labels = (each[0] if isinstance(each, (tuple, list)) and each else each for each in arrays)
        if not recorder.sites.is_users(code.co_filename) or any(
            not hasattr(each, "dtype") for each in (scores, labels)
        ):
            return
        with self._watch.unwatched(), torch.no_grad():
            scores, labels = torch.as_tensor(scores), torch.as_tensor(labels)
            form = self._form(scores, labels)
        if form is None:
            return
        learnt: list[dict[str, Any]] = []
        for oracle in () if form.unknown else self._oracles:
            made = functools.partial(self._score, function, prediction, form, oracle, scores, labels)
            answer = rehearsals.begin(made, SECONDS)
            if answer is rehearsals:
                return
            if not answer or "figures" not in answer:
                form.unknown = (answer or {}).get("failed", "the function does not return numbers in a few seconds")
                break
            learnt.append(answer["figures"])
        names = [] if form.unknown else [name for name in learnt[0] if all(name in each for each in learnt)]
        figures = {name: [each[name] for each in learnt] for name in names}
        site = recorder.sites.whole_line(code.co_filename, code.co_firstlineno)
        event = recorder.event("PredictionsPassed", recorder.here(), site=site)
        self._tell(event, site, form, figures)

    def _score(self, function: Any, prediction: Any, form: Any, oracle: str, scores: Any, labels: Any) -> None:
        """In the process that rehearses: call the function with other predictions, and end."""
        torch = self._watch.torch
        torch.set_num_threads(1)  # those of the process that was copied are not there
        end_with_changes(lambda: rehearsals.end({}))
        made = scores if oracle == MODEL else form.made(oracle, scores, labels, torch.Generator().manual_seed(SEED))
        before = prediction.predictions
        answers = (made.numpy(), *before[1:]) if isinstance(before, (tuple, list)) else made.numpy()
        beside = {name: vars(prediction).get(name) for name in ("inputs", "losses")}
        beside = {name: value for name, value in beside.items() if value is not None}
        other = type(prediction)(predictions=answers, label_ids=prediction.label_ids, **beside)
        try:
            returned = {str(key): _number(value) for key, value in function(other).items()}
        except Exception as error:  # noqa: BLE001 - the script's
            rehearsals.end({"failed": f"the script fails with other predictions: {type(error).__name__}"})
        figures = {key: number for key, number in returned.items() if number is not None}
        rehearsals.end({"figures": {**figures, "": form.right(made, labels)}})


def _number(value: Any) -> float | None:
    """A number, also one of NumPy or torch; None for anything else."""
    if not isinstance(value, (int, float)) and getattr(value, "shape", None) == () and hasattr(value, "item"):
        value = value.item()
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None
