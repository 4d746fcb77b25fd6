"""The loops of Lightning's trainer: epochs and batches are passes of loops at the call that the script makes."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from ...imports import after

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType, ModuleType

    from ...loop import Loop
    from ..watch import Watch

EPOCHS, BATCHES = "the epochs", "the batches"
LOOPS = {
    "fit_loop": ("_FitLoop", "on_advance_start", "on_run_end"),
    "training_epoch_loop": ("_TrainingEpochLoop", "advance", ""),
    "evaluation_loop": ("_EvaluationLoop", "_on_before_fetch", "on_run_end"),
    "prediction_loop": ("_PredictionLoop", "_on_before_fetch", "on_run_end"),
}
"""The loops since Lightning 2.0 by their modules: the class, the method that a pass begins with, and the one behind the last.

Without the latter, a pass is over with its method: the validation that follows a batch is none of it.
https://github.com/Lightning-AI/pytorch-lightning/tree/2.0.0/src/lightning/pytorch/loops
"""
SWITCHES = (
    "_on_evaluation_model_eval",
    "_on_evaluation_model_train",
    "_on_predict_model_eval",
    "_on_predict_model_train",
)
PACKAGES = ("lightning.pytorch.loops", "pytorch_lightning.loops")


class Watcher:
    """Tells the passes of the loops that a trainer runs; a checkup, which repeats its steps, has them from its rewritten source."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._under_way: dict[int, tuple[FrameType, Loop]] = {}  # by the id of Lightning's loop

    def install(self) -> None:
        """Wraps the loops when they are imported, under both names of the package."""
        for package in PACKAGES:
            for name, methods in LOOPS.items():
                after(f"{package}.{name}", functools.partial(self._wrap, *methods))

    def _wrap(self, name: str, begins: str, ends: str, module: ModuleType) -> None:
        cls = getattr(module, name, None)
        if cls is None or not all(hasattr(cls, each) for each in ("run", begins, ends or begins)):
            return  # of another version
        cls.run = self._running(cls.run, EPOCHS if name == "_FitLoop" else BATCHES)
        setattr(cls, begins, self._passing(getattr(cls, begins), stays=bool(ends)))
        if ends:
            setattr(cls, ends, self._ending(getattr(cls, ends)))

        for switch in SWITCHES:
            if hasattr(cls, switch):
                setattr(cls, switch, self._unseen(getattr(cls, switch)))

    def _unseen(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """A method that switches the mode for an evaluation: each part gets its own back by no call of `train()`."""
        watch = self._watch

        @functools.wraps(original)
        def switched(self: Any) -> Any:
            with watch.unwatched():
                return original(self)

        return switched

    def _running(self, original: Callable[..., Any], text: str) -> Callable[..., Any]:
        recorder, under_way, begin, end, tell = (
            self._watch.recorder,
            self._under_way,
            self._begin,
            self._end,
            self._tell,
        )

        @functools.wraps(original)
        def run(self: Any, *arguments: Any, **keywords: Any) -> Any:
            if id(self) not in under_way:
                recorder.safely(begin, self, text)
            try:
                returned = original(self, *arguments, **keywords)
                recorder.safely(tell, self)
            finally:
                recorder.safely(end, self)
            return returned

        return run

    def _passing(self, original: Callable[..., Any], *, stays: bool) -> Callable[..., Any]:
        """A method that each pass begins with; `stays`: the pass lasts beyond it, until the next one."""
        under_way = self._under_way

        @functools.wraps(original)
        def advance(self: Any, *arguments: Any, **keywords: Any) -> Any:
            _, loop = under_way.get(id(self), (None, None))
            if loop is not None:
                loop.number += 1
                loop.next = True
            try:
                return original(self, *arguments, **keywords)
            finally:
                if loop is not None:
                    loop.next = stays

        return advance

    def _ending(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """A method that is called behind the last pass."""
        under_way = self._under_way

        @functools.wraps(original)
        def ended(self: Any, *arguments: Any, **keywords: Any) -> Any:
            _, loop = under_way.get(id(self), (None, None))
            if loop is not None:
                loop.next = False
            return original(self, *arguments, **keywords)

        return ended

    def _begin(self, running: Any, text: str) -> None:
        recorder = self._watch.recorder
        frame = recorder.frame()
        if frame is not None:
            span = recorder.sites.spans[recorder.sites.of_frame(frame)]
            loop = self._watch.loops.own(frame, span, text, batches=text == BATCHES)
            loop.validates = _validates(running)
            self._under_way[id(running)] = frame, loop

    def _tell(self, running: Any) -> None:
        """Who asked for them gets the figures that are logged."""
        _, loop = self._under_way.get(id(running), (None, None))
        if loop is not None and loop.figures is not None:
            loop.figures(running.trainer.callback_metrics)

    def _end(self, running: Any) -> None:
        known = self._under_way.pop(id(running), None)
        if known is not None:
            known[1].next = False
            self._watch.loops.disown(*known)


def _validates(running: Any) -> bool:
    """Whether a loop of Lightning's validates while its trainer trains, and tries nothing but that."""
    trainer = running.trainer
    tries = getattr(trainer, "overfit_batches", 0) or getattr(trainer, "fast_dev_run", False)
    return bool(trainer.state.fn == "fit" and trainer.validating and not tries)
