"""A copy of the process that finishes an evaluation with other answers than those of the model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...rehearsal import end_with_changes, rehearsals
from .oracle_comparisons import Comparisons
from .oracle_figures import Figures
from .oracle_logs import LoggedFigures

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import FrameType

    from ...loop import Loop
    from ...watching.watch import Watch
    from .oracle_answers import Form, Spoilt

MODEL = "model"
"""The answers of the model itself."""
SEED = 20_412


class BatchTensors:
    """Where the tensors of each batch are: what a loader gave last, or what the names hold that a loop assigns before this row."""

    def __init__(self, watch: Watch, frame: FrameType, names: tuple[tuple[str, int, int], ...]) -> None:
        self._watch = watch
        self.frame = frame
        row = frame.f_lineno
        self._names = [name for name, first, last in names if first < row and last < row and name in frame.f_locals]
        self._loaded = not names

    def tensors(self) -> list[Any]:
        """Those of the batch that is under way."""
        if self._loaded:
            return list(self._watch.loaders.latest)
        variables = self.frame.f_locals
        return [each for name in self._names for each in self._watch.marks.tensors(variables.get(name))]


class Copy:
    """The process that rehearses: it answers in the place of the model, and counts which answers are right."""

    def __init__(
        self, watch: Watch, module: Any, form: Form, batch: BatchTensors, oracle: str, wrong: Spoilt | None = None
    ) -> None:
        self._watch = watch
        self._module = module
        self._form = form
        self._batch = batch
        self._oracle = oracle
        self._wrong = wrong
        self._right = self._answers = self._rows = self._zeros = self._ones = 0
        self._sizes: list[int] = []
        self._last: dict[float, int] = {}
        self._unknown = ""
        self._alone = False
        self._loop: Any = None
        self._figures: Any = None
        self._logs = LoggedFigures(watch.recorder.sites.is_users)
        self._comparisons: Any = None

    def begin(self, scores: Any, loop: Loop, *, alone: bool) -> None:
        """Put everything in place, and answer the batch that is there; `alone`: the model returns the scores and nothing else."""
        torch, is_users = self._watch.torch, self._watch.recorder.sites.is_users
        # The threads of the process that was copied are not there: https://github.com/pytorch/pytorch/issues/58962.
        torch.set_num_threads(1)
        self._generator = torch.Generator().manual_seed(SEED)
        self._loop = loop
        self._figures = Figures(torch, self._batch.frame, loop, is_users)
        self._figures.end = self._end
        self._comparisons = Comparisons(torch, self._labels, is_users)
        rehearsals.learnt = lambda: None  # a script that fails, or ends elsewhere, has shown nothing
        original, module = torch.nn.Module.__call__, self._module

        def call(called: Any, *arguments: Any, **keywords: Any) -> Any:
            over = self._figures.over or (loop.owned and not loop.next)
            if over and called.training and torch.is_grad_enabled():
                self._end()  # it trains
            return original(called, *arguments, **keywords)

        compute = module.forward

        def forward(*arguments: Any, **keywords: Any) -> Any:
            if self._figures.over:
                self._end()  # it evaluates other data
            output = self._spared(scores, arguments)
            if output is None:
                output = compute(*arguments, **keywords)
            self._answer(scores_in(torch, output))
            return output

        torch.nn.Module.__call__, module.forward = call, forward
        torch.save = torch.serialization.save = lambda *_, **__: None  # what is saved is the other process's to save
        end_with_changes(self._end)
        self._alone = alone
        loop.figures = self._logged
        self._logs.begin()
        self._answer(scores)
        self._comparisons.begin()
        self._figures.begin()

    def _spared(self, scores: Any, arguments: tuple[Any, ...]) -> Any:
        """An output without that of the model, which would be overwritten; None where the model has to compute it."""
        labels, first = self._labels(), arguments[0] if arguments else None
        if (
            self._oracle == MODEL
            or not self._alone
            or labels is None
            or not isinstance(first, self._watch.torch.Tensor)
        ):
            return None
        return self._form.empty(scores, labels) if len(first) == len(labels) else None

    def _labels(self) -> Any:
        """Those of the batch that is under way; None where there are none."""
        tensors = self._batch.tensors()
        return tensors[self._form.place] if self._form.place < len(tensors) else None

    def _answer(self, scores: Any) -> None:
        """Overwrite what the model answered."""
        torch, labels, form = self._watch.torch, self._labels(), self._form
        if labels is None or not form.fits(scores, labels):
            self._unknown = self._unknown or "outputs and labels differ in form from one another"
            return
        with torch.no_grad():
            if self._oracle != MODEL:
                here = self._wrong if self._wrong is not None and self._wrong.batch == len(self._sizes) else None
                scores.data.copy_(form.made(self._oracle, scores, labels, self._generator, here))
            right, answers = form.right(scores, labels)
        self._right += right
        self._answers += answers
        self._rows += len(labels)
        self._zeros += int((labels == 0).sum())
        self._ones += int((labels == 1).sum())
        self._sizes.append(labels.numel())
        self._last = form.most(labels)

    def _logged(self, figures: Mapping[str, Any]) -> None:
        """The library's loop is over."""
        self._logs.take(figures)
        self._end()

    def _end(self) -> None:
        rehearsals.end(self._learnt())

    def _learnt(self) -> dict[str, Any]:
        whole = self._loop.number - len(self._sizes) in (0, 1)  # the pass that finds no batch counts
        failed = f"the script fails with other predictions: {self._figures.failed}" if self._figures.fails else ""
        found = [*self._figures.found, *self._logs.found]
        unread = self._loop.owned and not found
        unseen = "what the trainer computes of them is not read" if unread else ""
        unknown = (
            self._unknown or failed or unseen or ("" if whole and not self._loop.capped else "the pass was cut short")
        )
        share = self._right / self._answers if self._answers else None
        return {
            "figures": [*self._comparisons.shares(sum(self._sizes)), *found],
            "share": share,
            "answers": self._answers,
            "rows": self._rows,
            "labels": [each / max(self._answers, 1) for each in (self._zeros, self._ones)],
            "batches": len(self._sizes),
            "sizes": self._sizes,
            "last": list(self._last.items()),
            "wrong": 0 if self._wrong is None else self._wrong.many,
            "unknown": unknown,
        }


def scores_in(torch: Any, output: Any) -> Any:
    """The scores among what a model returned: the first tensor with fractions and dimensions."""
    if isinstance(output, torch.Tensor):
        return output
    parts = list(output.values()) if hasattr(output, "values") else output if isinstance(output, (list, tuple)) else []
    scores = [each for each in parts if isinstance(each, torch.Tensor) and each.is_floating_point() and each.dim()]
    return scores[0] if scores else None
