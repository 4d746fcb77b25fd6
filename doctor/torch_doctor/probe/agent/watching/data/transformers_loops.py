"""The loops of transformers' trainer, and the loaders that it builds over the rows that the script gives it."""

from __future__ import annotations

import functools
import inspect
import itertools
import sys
import weakref
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ...imports import after
from ...nodes import span_of
from ..owned_loops import BATCHES, EPOCHS, EVALUATED, OwnedLoops
from .given_rows import GivenRows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from types import ModuleType

    from ..watch import Watch

RUN, TAKE = "_inner_training_loop", "get_batch_samples"
"""The methods that train, and that take the batches of an update: since transformers 4.46.

https://github.com/huggingface/transformers/blob/v4.46.0/src/transformers/trainer.py
"""
BEHIND_BATCHES = ("_maybe_log_save_evaluate",)
BEHIND_EPOCHS = ("_finalize_training", "_load_best_model")
EVALUATIONS = ("evaluation_loop", "prediction_loop")
LOADERS = {"get_train_dataloader": "train_dataset", "get_eval_dataloader": "eval_dataset", "get_test_dataloader": ""}
"""The methods that build loaders, and the argument of the constructor that they read where they are given nothing."""


class Watcher:
    """Tells the passes of the loops that a trainer runs; a checkup, which repeats its steps, has them from its rewritten source."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._loops = OwnedLoops(watch, lambda each: getattr(each, "callback_handler", each))
        self._places: weakref.WeakKeyDictionary[Any, dict[str, int]] = weakref.WeakKeyDictionary()

    def install(self) -> None:
        """Wraps the trainer, and what calls its callbacks, when they are imported."""
        if not self._watch.recorder.plan.get("checkup"):
            after("transformers.trainer", self._wrap)

    def _wrap(self, module: ModuleType) -> None:
        trainer, loops = vars(module)["Trainer"], self._loops
        self._replace(trainer, "__init__", self._built)
        for name, argument in LOADERS.items():
            self._replace(trainer, name, functools.partial(self._loading, argument=argument))
        self._replace(trainer, "_remove_unused_columns", self._without_columns)
        if any(hasattr(trainer, name) for name in EVALUATIONS):
            for name in EVALUATIONS:
                self._replace(trainer, name, self._evaluating)
            vars(module)["enumerate"] = self._enumerating
        handler = vars(module).get("CallbackHandler")
        if handler is None or not (hasattr(trainer, RUN) and hasattr(trainer, TAKE)):
            return  # of another version
        self._replace(trainer, RUN, self._training)
        self._replace(trainer, TAKE, functools.partial(loops.passing, over=BATCHES, stays=True))
        self._replace(handler, "on_epoch_begin", self._beginning_epoch)
        self._replace(handler, "on_substep_end", self._accumulating)
        self._replace(handler, "on_epoch_end", functools.partial(loops.ending, over=BATCHES))
        self._replace(handler, "on_train_end", functools.partial(loops.ending, over=EPOCHS))
        for over, names in ((BATCHES, BEHIND_BATCHES), (EPOCHS, BEHIND_EPOCHS)):
            for name in names:
                self._replace(trainer, name, functools.partial(loops.ending, over=over))

    def _replace(self, cls: Any, name: str, make: Callable[[Any], Any]) -> None:
        original = vars(cls).get(name)
        if original is not None:
            setattr(cls, name, functools.wraps(original)(make(original)))

    # --- loops ---

    def _training(self, original: Callable[..., Any]) -> Callable[..., Any]:
        recorder, loops = self._watch.recorder, self._loops

        def run(self: Any, *arguments: Any, **keywords: Any) -> Any:
            recorder.safely(loops.begin, self, EPOCHS)
            try:
                return original(self, *arguments, **keywords)
            finally:
                recorder.safely(loops.end, self, BATCHES)
                recorder.safely(loops.end, self, EPOCHS)

        return run

    def _beginning_epoch(self, original: Callable[..., Any]) -> Callable[..., Any]:
        recorder, loops = self._watch.recorder, self._loops
        passed = loops.passing(original, EPOCHS, stays=True)

        def on_epoch_begin(self: Any, *arguments: Any, **keywords: Any) -> Any:
            begun = passed(self, *arguments, **keywords)
            recorder.safely(loops.begin, self, BATCHES)
            loop = loops.of(self, BATCHES)
            if loop is not None:
                loop.counts_updates = True
            return begun

        return on_epoch_begin

    def _accumulating(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """What is called behind a batch that no update follows: the next one was taken with it."""
        loops = self._loops

        def on_substep_end(self: Any, *arguments: Any, **keywords: Any) -> Any:
            ended = original(self, *arguments, **keywords)
            loop = loops.of(self, BATCHES)
            if loop is not None:
                loop.number += 1
            return ended

        return on_substep_end

    def _evaluating(self, original: Callable[..., Any]) -> Callable[..., Any]:
        recorder, loops = self._watch.recorder, self._loops

        def evaluation_loop(self: Any, *arguments: Any, **keywords: Any) -> Any:
            recorder.safely(loops.begin, self, EVALUATED)
            try:
                return original(self, *arguments, **keywords)
            finally:
                recorder.safely(loops.end, self, EVALUATED)

        return evaluation_loop

    def _enumerating(self, items: Iterable[Any], start: int = 0) -> Iterator[tuple[int, Any]]:
        """What `enumerate` is in the module of the trainer: each batch of an evaluation begins a pass."""
        caller = sys._getframe(1)
        evaluates = caller.f_code.co_name in EVALUATIONS and "self" in caller.f_locals
        loop = self._loops.of(caller.f_locals["self"], EVALUATED) if evaluates else None
        return enumerate(items, start) if loop is None else self._passes(loop, items, start)

    @staticmethod
    def _passes(loop: Any, items: Iterable[Any], start: int) -> Iterator[tuple[int, Any]]:
        taken = iter(items)
        for number in itertools.count(start):
            loop.number += 1
            loop.next = True
            try:
                item = next(taken)
            except StopIteration:
                loop.next = False
                return
            yield number, item

    # --- loaders ---

    def _built(self, original: Callable[..., Any]) -> Callable[..., Any]:
        recorder, noted = self._watch.recorder, self._noted

        def __init__(self: Any, *arguments: Any, **keywords: Any) -> None:  # noqa: N807
            recorder.safely(noted, self)
            original(self, *arguments, **keywords)

        return __init__

    def _noted(self, trainer: Any) -> None:
        """Where a trainer is built it is told of its data sets."""
        recorder = self._watch.recorder
        here = recorder.here()
        if here.frame is None:
            return
        call = recorder.call(here.site, type(trainer).__name__, "__init__")
        names = list(inspect.signature(type(trainer).__init__).parameters)[1:]
        given: dict[str, Any] = {}
        if call is not None:
            given = dict(zip(names, call.args))  # noqa: B905 - the first ones
            given |= {each.arg: each.value for each in call.keywords if each.arg is not None}
        path = recorder.span(here.site).path
        self._places[trainer] = {
            name: recorder.sites.number(span_of(path, given[name])) if name in given else here.site
            for name in filter(None, LOADERS.values())
        }

    def _loading(self, original: Callable[..., Any], argument: str) -> Callable[..., Any]:
        given_rows = self._given_rows

        def get_dataloader(self: Any, *arguments: Any, **keywords: Any) -> Any:
            rows = next(iter((*arguments, *keywords.values())), None)
            with given_rows(self, rows, argument):
                return original(self, *arguments, **keywords)

        return get_dataloader

    @contextmanager
    def _given_rows(self, trainer: Any, rows: Any, argument: str) -> Iterator[None]:
        """What a loader reads that is built meanwhile: rows that are named where the trainer is built, or those of this call."""
        loaders, own = self._watch.loaders, getattr(trainer, argument, None) if argument else None
        meant = own is not None and not isinstance(own, dict) and (rows is None or rows is own)
        site = self._places.get(trainer, {}).get(argument) if meant else None
        trains = argument == "train_dataset"
        loaders.given = GivenRows(site, argument if meant else "", trains=trains, scores=meant and not trains)
        try:
            yield
        finally:
            loaders.given = None

    def _without_columns(self, original: Callable[..., Any]) -> Callable[..., Any]:
        references = self._watch.recorder.references

        def _remove_unused_columns(self: Any, dataset: Any, *arguments: Any, **keywords: Any) -> Any:
            fewer = original(self, dataset, *arguments, **keywords)
            references.same(fewer, dataset)
            return fewer

        return _remove_unused_columns
