"""The functions that score predictions for trainers of `transformers`."""

from __future__ import annotations

import functools
import inspect
from types import CodeType
from typing import TYPE_CHECKING, Any

from ...imports import after
from ...rehearsal import rehearsals

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from ...watching.watch import Watch

MOST = 3  # functions that are asked about


class GivenMetrics:
    """Calls `ask` with each such function, its code and the predictions, before the function gets them for the first time."""

    def __init__(self, watch: Watch, ask: Callable[[Any, CodeType, Any], None]) -> None:
        self._watch = watch
        self._ask = ask
        self._asked: set[Any] = set()
        after("transformers.trainer", self._patch)

    def _patch(self, module: ModuleType) -> None:
        trainer: Any = vars(module)["Trainer"]
        build = trainer.__init__

        @functools.wraps(build)
        def built(this: Any, *arguments: Any, **keywords: Any) -> None:
            build(this, *arguments, **keywords)
            code = _code(this.compute_metrics)
            if code is not None:
                this.compute_metrics = self._wrapped(this.compute_metrics, code)

        trainer.__init__ = built

    def _wrapped(self, function: Any, code: CodeType) -> Any:
        @functools.wraps(function, functools.WRAPPER_ASSIGNMENTS, ())
        def compute_metrics(prediction: Any, *arguments: Any, **keywords: Any) -> Any:
            recorder = self._watch.recorder
            if not recorder.quiet and not rehearsals.under_way and code not in self._asked and len(self._asked) < MOST:
                self._asked.add(code)
                recorder.safely(self._ask, function, code, prediction)
            return function(prediction, *arguments, **keywords)

        return compute_metrics


def _code(function: Any) -> CodeType | None:
    """The code of a function, a method, one with some of its arguments, or an object that is called; None for anything else."""
    function = inspect.unwrap(function)
    while isinstance(function, functools.partial):
        function = inspect.unwrap(function.func)
    if function is not None and not inspect.isroutine(function):
        function = inspect.unwrap(inspect.getattr_static(type(function), "__call__", None))
    code = getattr(function, "__code__", None)
    return code if isinstance(code, CodeType) else None
