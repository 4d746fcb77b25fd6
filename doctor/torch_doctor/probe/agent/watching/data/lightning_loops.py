"""The loops of Lightning's trainer: epochs and batches are passes of loops at the call that the script makes."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from ...imports import after
from ..owned_loops import BATCHES, EPOCHS, OwnedLoops

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from ..watch import Watch

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
SCHEDULES = "update_lr_schedulers"
"""The method that steps schedulers, in the pass of an epoch's last batch also those that step once in an epoch."""
PACKAGES = ("lightning.pytorch.loops", "pytorch_lightning.loops")


class Watcher:
    """Tells the passes of the loops that a trainer runs; a checkup, which repeats its steps, has them from its rewritten source."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._loops = OwnedLoops(watch, lambda loop: loop, logs=True)

    def install(self) -> None:
        """Wraps the loops when they are imported, under both names of the package."""
        for package in PACKAGES:
            for name, methods in LOOPS.items():
                after(f"{package}.{name}", functools.partial(self._wrap, *methods))

    def _wrap(self, name: str, begins: str, ends: str, module: ModuleType) -> None:
        cls = getattr(module, name, None)
        if cls is None or not all(hasattr(cls, each) for each in ("run", begins, ends or begins)):
            return  # of another version
        over = EPOCHS if name == "_FitLoop" else BATCHES
        cls.run = self._running(cls.run, over)
        setattr(cls, begins, self._loops.passing(getattr(cls, begins), over, stays=bool(ends)))
        if ends:
            setattr(cls, ends, self._loops.ending(getattr(cls, ends), over))

        if hasattr(cls, SCHEDULES):
            setattr(cls, SCHEDULES, self._scheduling(getattr(cls, SCHEDULES)))
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

    def _scheduling(self, original: Callable[..., Any]) -> Callable[..., Any]:
        loops = self._loops

        @functools.wraps(original)
        def update_lr_schedulers(self: Any, interval: str, *arguments: Any, **keywords: Any) -> Any:
            loop = loops.of(self, BATCHES) if interval == "epoch" else None
            if loop is None or not loop.next:
                return original(self, interval, *arguments, **keywords)
            loop.next = False
            try:
                return original(self, interval, *arguments, **keywords)
            finally:
                loop.next = True

        return update_lr_schedulers

    def _running(self, original: Callable[..., Any], over: str) -> Callable[..., Any]:
        recorder, loops, begin, tell = self._watch.recorder, self._loops, self._begin, self._tell

        @functools.wraps(original)
        def run(self: Any, *arguments: Any, **keywords: Any) -> Any:
            recorder.safely(begin, self, over)
            try:
                returned = original(self, *arguments, **keywords)
                recorder.safely(tell, self, over)
            finally:
                recorder.safely(loops.end, self, over)
            return returned

        return run

    def _begin(self, running: Any, over: str) -> None:
        self._loops.begin(running, over)
        loop = self._loops.of(running, over)
        if loop is not None:
            loop.validates = _validates(running)
            loop.length = _passes(running)

    def _tell(self, running: Any, over: str) -> None:
        """Who asked for them gets the figures that are logged."""
        loop = self._loops.of(running, over)
        if loop is not None and loop.figures is not None:
            loop.figures(running.trainer.callback_metrics)


def _validates(running: Any) -> bool:
    """Whether a loop of Lightning's validates while its trainer trains, and tries nothing but that."""
    trainer = running.trainer
    tries = getattr(trainer, "overfit_batches", 0) or getattr(trainer, "fast_dev_run", False)
    return bool(trainer.state.fn == "fit" and trainer.validating and not tries)


def _passes(running: Any) -> int | None:
    """How many epochs the training of a trainer has, or batches an epoch of it; None where nobody knows, and of an evaluation."""
    names = {"_FitLoop": "max_epochs", "_TrainingEpochLoop": "num_training_batches"}
    name = next((names[cls.__name__] for cls in type(running).__mro__ if cls.__name__ in names), "")
    length = getattr(running.trainer, name, None) if name else None
    return length if type(length) is int and length > 0 else None
