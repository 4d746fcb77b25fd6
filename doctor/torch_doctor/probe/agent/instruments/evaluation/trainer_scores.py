"""Has copies of the process call the function that scores predictions for a trainer of `transformers`, with other predictions."""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any

from ...imports import after
from ...rehearsal import end_with_changes, rehearsals
from .padded_answers import ORACLES, PaddedForm

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from ...watching.watch import Watch

MOST = 3  # functions that are asked about
SECONDS = 4.0


class TrainerScores:
    """Asks such functions, the first time that each is called.

    `tell` gets the event and the place of the function, the form, and the numbers that it returned by their names, for each
    oracle; "" names the share of the labels that are left out.
    """

    def __init__(
        self, watch: Watch, ignored: set[int], tell: Callable[[int, int, Any, dict[str, list[float]]], None]
    ) -> None:
        self._watch = watch
        self._ignored = ignored
        self._tell = tell
        self._asked: set[Any] = set()
        after("transformers.trainer", self._patch)

    def _patch(self, module: ModuleType) -> None:
        trainer: Any = vars(module)["Trainer"]
        build = trainer.__init__

        @functools.wraps(build)
        def built(this: Any, *arguments: Any, **keywords: Any) -> None:
            build(this, *arguments, **keywords)
            if inspect.isfunction(this.compute_metrics):
                this.compute_metrics = self._wrapped(this.compute_metrics)

        trainer.__init__ = built

    def _wrapped(self, function: Any) -> Any:
        @functools.wraps(function)
        def compute_metrics(prediction: Any, *arguments: Any, **keywords: Any) -> Any:
            code, recorder = function.__code__, self._watch.recorder
            if not recorder.quiet and not rehearsals.under_way and code not in self._asked and len(self._asked) < MOST:
                self._asked.add(code)
                recorder.safely(self._ask, function, prediction)
            return function(prediction, *arguments, **keywords)

        return compute_metrics

    def _ask(self, function: Any, prediction: Any) -> None:
        """Let copies score predictions that are made from the labels."""
        torch, recorder = self._watch.torch, self._watch.recorder
        code = function.__code__
        arrays = [getattr(prediction, name, None) for name in ("predictions", "label_ids")]
        scores, labels = (each[0] if isinstance(each, (tuple, list)) and each else each for each in arrays)
        if not recorder.sites.is_users(code.co_filename) or any(
            not hasattr(each, "dtype") for each in (scores, labels)
        ):
            return
        with self._watch.unwatched(), torch.no_grad():
            scores, labels = torch.as_tensor(scores), torch.as_tensor(labels)
            form = PaddedForm(torch, scores, [labels], self._ignored)
        if form.place < 0:
            return
        learnt = []
        for oracle in ORACLES:
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
        made = form.made(oracle, scores, labels).numpy()
        before = prediction.predictions
        answers = (made, *before[1:]) if isinstance(before, (tuple, list)) else made
        beside = {name: vars(prediction).get(name) for name in ("inputs", "losses")}
        beside = {name: value for name, value in beside.items() if value is not None}
        other = type(prediction)(predictions=answers, label_ids=prediction.label_ids, **beside)
        try:
            result = function(other)
            figures = {str(key): float(value) for key, value in result.items() if isinstance(value, (int, float))}
        except Exception as error:  # noqa: BLE001 - the script's
            rehearsals.end({"failed": f"the script fails with other predictions: {type(error).__name__}"})
        void = form.right(scores, labels)
        rehearsals.end({"figures": {**figures, "": void[0] / void[1]}})
