"""Has a copy of the process evaluate answers that are made from the labels: how does the script score them?"""

from __future__ import annotations

import functools
from time import monotonic
from typing import TYPE_CHECKING, Any

from ...rehearsal import POSSIBLE, end_with_changes, rehearsals
from ..instrument import Instrument as Base
from .oracle_answers import ORACLES, Form
from .oracle_figures import Figures

if TYPE_CHECKING:
    from ...loop import Loop
    from ...scopes import Here
    from ...watching.watch import Watch

MODEL = "model"
"""The answers of the model itself."""
MOST = 3  # loops that are asked about
SECONDS = 4.0  # for all answers of one loop
SEED = 20_412


class Instrument(Base):
    """Begins at the first batch of a loop that evaluates; the copies go on until the loop's function returns."""

    def __init__(self, watch: Watch) -> None:
        super().__init__(watch)
        self._asked: set[int] = set()
        self._fetching: list[Loop] = []  # the loops whose next pass the last batch is for, also through a generator

    def on_batch(self, batch: Any, here: Here, event: int) -> None:
        """A loader gave a batch."""
        self._fetching = [loop for loop in here.loops if loop.next]

    def on_forward(
        self, module: Any, arguments: tuple[Any, ...], keywords: dict[str, Any], output: Any, here: Here, event: int
    ) -> None:
        """A model answered."""
        torch, loop = self.watch.torch, here.loops[-1] if here.loops else None
        if (
            loop is None
            or loop not in self._fetching
            or loop.number != 1
            or loop.trained
            or loop.node.key in self._asked
        ):
            return
        if (torch.is_grad_enabled() and module.training) or len(self._asked) >= MOST or rehearsals.under_way:
            return
        frame = here.frame
        while frame is not None and frame.f_code is not loop.code:
            frame = frame.f_back
        if frame is None or not POSSIBLE or not self.watch.recorder.plan.get("oracles", True):
            return
        self._asked.add(loop.node.key)
        with self.watch.unwatched(), torch.no_grad():
            scores = _first(torch, output)
            given = list(self.watch.marks.tensors([*arguments, *keywords.values()]))
            form = Form(torch, scores, self.watch.loaders.latest, given)
            if not form.unknown and scores.device.type != "cpu":
                form.unknown = "the copy of a process cannot use the device"
        learnt = {} if form.unknown else self._ask(module, scores, form, frame, loop)
        if not rehearsals.under_way:
            self._tell(learnt, form, here, loop, event)

    def _ask(self, module: Any, scores: Any, form: Form, frame: Any, loop: Loop) -> dict[str, Any]:
        """What the copies learnt, by the oracle; in a copy, nothing."""
        learnt: dict[str, Any] = {}
        begun = monotonic()
        for oracle in (MODEL, *ORACLES):
            copy = Copy(self.watch, module, form, oracle)
            left = SECONDS - (monotonic() - begun)
            prepare = functools.partial(copy.begin, scores, frame, loop)
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

    def _tell(self, learnt: dict[str, Any], form: Form, here: Here, loop: Loop, event: int) -> None:
        """Write the figures that all answers have."""
        recorder = self.watch.recorder
        known = [learnt[oracle] for oracle in (MODEL, *ORACLES)] if len(learnt) > len(ORACLES) else []
        if known and not form.unknown:
            form.unknown = next((each["unknown"] for each in known if each["unknown"]), "")
        by_figure = [{tuple(each[:4]): each[4] for each in answer["figures"]} for answer in known]
        for key in by_figure[0] if by_figure and not form.unknown else ():
            if all(key in each for each in by_figure):
                path, row, how, name = key
                recorder.event(
                    "AnswersScored",
                    here,
                    site=recorder.sites.whole_line(path, row),
                    forward=event,
                    loop=recorder.sites.number(loop.node.span),
                    how=how,
                    name=name,
                    figures=[each[key] for each in by_figure],
                    shares=[each["share"] for each in known if each["share"] is not None],
                    answers=known[0]["answers"],
                    labels=known[0]["labels"],
                    batches=known[0]["batches"],
                    kind=form.kind,
                )
        if form.unknown:
            recorder.event("AnswersScored", here, forward=event, how="", name="", unknown=form.unknown)


class Copy:
    """The process that rehearses: it answers in the place of the model, and counts which answers are right."""

    def __init__(self, watch: Watch, module: Any, form: Form, oracle: str) -> None:
        self._watch = watch
        self._module = module
        self._form = form
        self._oracle = oracle
        self._right = self._answers = self._batches = self._zeros = self._ones = 0
        self._unknown = ""
        self._loop: Any = None
        self._figures: Any = None

    def begin(self, scores: Any, frame: Any, loop: Loop) -> None:
        """Put everything in place, and answer the batch that is there."""
        torch = self._watch.torch
        # The threads of the process that was copied are not there: https://github.com/pytorch/pytorch/issues/58962.
        torch.set_num_threads(1)
        self._generator = torch.Generator().manual_seed(SEED)
        self._loop = loop
        self._figures = Figures(torch, frame, loop, self._watch.recorder.sites.is_users)
        self._figures.end = self._end
        rehearsals.learnt = lambda: None  # a script that fails, or ends elsewhere, has shown nothing
        original, module = torch.nn.Module.__call__, self._module

        def call(called: Any, *arguments: Any, **keywords: Any) -> Any:
            if self._figures.over and called.training and torch.is_grad_enabled():
                self._end()  # it trains
            return original(called, *arguments, **keywords)

        compute = module.forward

        def forward(*arguments: Any, **keywords: Any) -> Any:
            if self._figures.over:
                self._end()  # it evaluates other data
            output = compute(*arguments, **keywords)
            self._answer(_first(torch, output))
            return output

        torch.nn.Module.__call__, module.forward = call, forward
        torch.save = torch.serialization.save = lambda *_, **__: None  # what is saved is the other process's to save
        end_with_changes(self._end)
        self._answer(scores)
        self._figures.begin()

    def _answer(self, scores: Any) -> None:
        """Overwrite what the model answered."""
        torch, tensors = self._watch.torch, self._watch.loaders.latest
        form = self._form
        labels = tensors[form.place] if form.place < len(tensors) else None
        if labels is None or not form.fits(scores, labels):
            self._unknown = self._unknown or "outputs and labels differ in form from one another"
            return
        with torch.no_grad():
            if self._oracle != MODEL:
                scores.data.copy_(form.made(self._oracle, scores, labels, self._generator))
            right, answers = form.right(scores, labels)
        self._right += right
        self._answers += answers
        self._zeros += int((labels == 0).sum())
        self._ones += int((labels == 1).sum())
        self._batches += 1

    def _end(self) -> None:
        rehearsals.end(self._learnt())

    def _learnt(self) -> dict[str, Any]:
        whole = self._loop.number - self._batches in (0, 1)  # the pass that finds no batch counts
        failed = f"the script fails with other predictions: {self._figures.failed}" if self._figures.fails else ""
        unknown = self._unknown or failed or ("" if whole and not self._loop.capped else "the pass was cut short")
        share = self._right / self._answers if self._answers else None
        return {
            "figures": self._figures.found,
            "share": share,
            "answers": self._answers,
            "labels": [each / max(self._answers, 1) for each in (self._zeros, self._ones)],
            "batches": self._batches,
            "unknown": unknown,
        }


def _first(torch: Any, output: Any) -> Any:
    """The scores among what a model returned: the first tensor with fractions and dimensions."""
    if isinstance(output, torch.Tensor):
        return output
    parts = list(output.values()) if hasattr(output, "values") else output if isinstance(output, (list, tuple)) else []
    scores = [each for each in parts if isinstance(each, torch.Tensor) and each.is_floating_point() and each.dim()]
    return scores[0] if scores else None
