"""Has a copy of the process evaluate answers that are made from the labels: how does the script score them?"""

from __future__ import annotations

import functools
from time import monotonic
from typing import TYPE_CHECKING, Any

from ...rehearsal import POSSIBLE, rehearsals
from ..instrument import Instrument as Base
from .oracle_answers import CLASSES, FIRST, LAST, ORACLES, PERFECT, Form, Spoilt
from .oracle_copy import MODEL, BatchTensors, Copy, scores_in
from .trainer_answers import TrainerAnswers

if TYPE_CHECKING:
    from ...loop import Loop
    from ...scopes import Here
    from ...watching.watch import Watch

MOST = 3  # loops that are asked about
SECONDS = 4.0  # for all answers of one loop


class Instrument(Base):
    """Begins at the first batch of a loop that evaluates; the copies go on until the loop's function returns."""

    def __init__(self, watch: Watch) -> None:
        super().__init__(watch)
        self._asked: set[int] = set()
        self._fetching: list[Loop] = []  # the loops whose next pass the last batch is for, also through a generator

        self._ask_trainers()

    def _ask_trainers(self) -> None:
        """Has functions asked that score predictions for a trainer."""
        TrainerAnswers(self.watch)

    def on_batch(self, batch: Any, here: Here, event: int) -> None:
        """A loader gave a batch."""
        self._fetching = [loop for loop in here.loops if loop.next]

    def on_forward(
        self, module: Any, arguments: tuple[Any, ...], keywords: dict[str, Any], output: Any, here: Here, event: int
    ) -> None:
        """A model answered."""
        torch, loop = self.watch.torch, here.loops[-1] if here.loops else None
        if loop is None or loop.number != 1 or loop.trained or loop.node.key in self._asked:
            return
        if loop.owned and not loop.logs:
            return  # the trainer's own scores are asked for
        loaded = loop in self._fetching
        if not loaded and not loop.node.names:
            return
        if (torch.is_grad_enabled() and module.training) or len(self._asked) >= MOST or rehearsals.under_way:
            return
        frame = here.frame
        while frame is not None and frame.f_code is not loop.code:
            frame = frame.f_back
        if frame is None or not POSSIBLE or not self.watch.recorder.plan.get("oracles", True):
            return
        batch = BatchTensors(self.watch, frame, () if loaded else loop.node.names)
        with self.watch.unwatched(), torch.no_grad():
            scores = scores_in(torch, output)
            form = self._form(module, scores, batch, [*arguments, *keywords.values()])
        if form is None or (form.unknown and not loaded):
            return  # it goes over something else
        self._asked.add(loop.node.key)
        alone = scores is output
        learnt = {} if form.unknown else self._ask(module, scores, form, batch, loop, alone=alone)
        if not rehearsals.under_way:
            self._tell(learnt, form, scores, here, loop, event)

    def _form(self, module: Any, scores: Any, batch: BatchTensors, given: list[Any]) -> Form | None:
        """What the answers are, and which tensor has the labels."""
        axes, number = self.watch.class_axes, self.watch.recorder.references.number(module)
        shown = frozenset() if axes is None or scores is None else axes.known.get((number, scores.dim()), frozenset())
        form = Form(self.watch.torch, scores, batch.tensors(), list(self.watch.marks.tensors(given)), frozenset(shown))
        if not form.unknown and scores.device.type != "cpu":
            form.unknown = "the copy of a process cannot use the device"
        return form

    def _ask(
        self, module: Any, scores: Any, form: Form, batch: BatchTensors, loop: Loop, *, alone: bool
    ) -> dict[str, Any]:
        """What the copies learnt, by the oracle; in a copy, nothing. The model itself comes last: it takes the longest."""
        learnt: dict[str, Any] = {}
        begun = monotonic()
        waiting: list[tuple[str, str, Spoilt | None]] = [(name, name, None) for name in ORACLES]
        while waiting:
            name, oracle, wrong = waiting.pop(0)
            copy = Copy(self.watch, module, form, batch, oracle, wrong)
            left = SECONDS - (monotonic() - begun)
            prepare = functools.partial(copy.begin, scores, loop, alone=alone)
            answer = rehearsals.begin(prepare, left) if left > 0 else None
            if answer is rehearsals:
                return {}
            if not answer or "failed" in answer:
                if name in ORACLES:
                    form.unknown = str((answer or {}).get("failed", "the evaluation does not end in a few seconds"))
                break
            learnt[name] = answer
            if name == ORACLES[-1] and not answer["unknown"]:
                waiting += [(each, PERFECT, spoilt) for each, spoilt in self._spoilt(form, batch, answer).items()]
                waiting.append((MODEL, MODEL, None))
        took = monotonic() - begun
        loop.began += took
        self.watch.questions.took(self, took)
        return learnt

    def _spoilt(self, form: Form, batch: BatchTensors, answer: dict[str, Any]) -> dict[str, Spoilt]:
        """Which answers to spoil in the first batch, and as many in a last one that is smaller."""
        first, sizes = form.most(batch.tensors()[form.place]), answer["sizes"]
        last = dict(answer["last"]) if sizes[-1] < sizes[0] and set(sizes[:-1]) == {sizes[0]} else first
        label, count = max(
            ((label, min(first[label], last.get(label, 0))) for label in first), key=lambda each: each[1]
        )
        if not count:
            return {}
        spoilt = {FIRST: Spoilt(0, label, count)}
        return spoilt if last is first else {**spoilt, LAST: Spoilt(len(sizes) - 1, label, count)}

    def _tell(self, learnt: dict[str, Any], form: Form, scores: Any, here: Here, loop: Loop, event: int) -> None:
        """Write the figures that all answers have."""
        recorder = self.watch.recorder
        known = (
            [learnt[each] for each in (*ORACLES, FIRST, LAST) if each in learnt] if len(learnt) >= len(ORACLES) else []
        )
        if known and not form.unknown:
            form.unknown = next((each["unknown"] for each in known if each["unknown"]), "")
        known = [learnt.get(MODEL, learnt.get(PERFECT, {})), *known]
        by_figure = [{tuple(each[:4]): each[4] for each in answer["figures"]} for answer in known if answer]
        for key in by_figure[0] if by_figure and not form.unknown else ():
            if all(key in each for each in by_figure):
                path, row, how, name = key
                sizes = known[0]["sizes"]
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
                    rows=known[0]["rows"],
                    labels=known[0]["labels"],
                    batches=known[0]["batches"],
                    sizes=[sizes[0], sizes[-1]],
                    wrong=learnt[FIRST]["wrong"] if FIRST in learnt else 0,
                    kind=form.kind,
                    axis=form.axis - scores.dim() if form.kind == CLASSES else 0,
                    model=MODEL in learnt,
                )
        if form.unknown:
            recorder.event("AnswersScored", here, forward=event, how="", name="", unknown=form.unknown)
