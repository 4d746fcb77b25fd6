"""What torchmetrics had: metrics of classes that find out by themselves what they are given."""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any

from ... import imports
from .names import Removed

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

NAMES = tuple(
    "Accuracy Precision Recall F1Score FBetaScore Specificity AUROC AveragePrecision ConfusionMatrix CohenKappa JaccardIndex "
    "MatthewsCorrCoef StatScores PrecisionRecallCurve ROC CalibrationError HammingDistance HingeLoss Dice".split()
)
GONE = ("compute_on_step", "dist_sync_fn", "mdmc_average", "multiclass", "subset_accuracy", "pos_label")
CLASSES = "num_classes"


class TorchmetricsNames(Removed):
    """Metrics whose `task` was not given."""

    def prepare(self) -> None:
        """Patches the classes when the package is imported."""
        imports.after("torchmetrics", self._patch)

    def _patch(self, module: ModuleType) -> None:
        package: Any = module
        for name in NAMES:
            kind = getattr(package, name, None)
            task = inspect.signature(kind.__new__).parameters.get("task") if kind is not None else None
            if task is not None and task.default is task.empty:
                built = self._without_task(name, kind.__new__, inferring(package.Metric, name))
                kind.__new__ = staticmethod(built)  # type: ignore[method-assign]

    def _without_task(self, name: str, build: Callable[..., Any], later: Any) -> Any:
        @functools.wraps(build)
        def made(kind: Any, *arguments: Any, **keywords: Any) -> Any:
            if "task" in keywords or any(isinstance(each, str) for each in arguments[:1]):
                return build(kind, *arguments, **keywords)
            self.was_used(f"torchmetrics.{name} without a task", "the task that the shapes say")
            given = {key: value for key, value in keywords.items() if key not in GONE}
            count = given.pop(CLASSES, arguments[0] if arguments and isinstance(arguments[0], int) else None)
            if count is not None:
                return build(kind, **_task(int(count)), **given)
            return later(lambda count: build(kind, **_task(count), **given))

        return made


def _task(count: int) -> dict[str, Any]:
    return {"task": "multiclass", CLASSES: count} if count > 1 else {"task": "binary"}


@functools.cache
def inferring(metric: Any, name: str) -> Any:
    """The class of metrics that find out how many classes there are when they are first given some."""

    class InferringMetric(metric):  # type: ignore[misc]
        """A metric that is made when it is first given something."""

        def __init__(self, make: Any) -> None:
            super().__init__()
            self._make = make
            self.inner: Any = None

        def _known(self, scores: Any, labels: Any) -> Any:
            if self.inner is None:
                apart = scores.ndim > labels.ndim
                highest = int(max(labels.max(), 1 if scores.is_floating_point() else scores.max())) + 1
                self.inner = self._make(scores.shape[1] if apart else highest if highest > 2 else 1)  # noqa: PLR2004 - two classes
                self.inner.to(scores.device)
            return self.inner

        def forward(self, scores: Any, labels: Any) -> Any:
            """The value of a batch."""
            self._update_count += 1
            return self._known(scores, labels)(scores, labels)

        def update(self, scores: Any, labels: Any) -> None:
            """Counts a batch."""
            self._known(scores, labels).update(scores, labels)

        def compute(self) -> Any:
            """The value of all batches."""
            return self.inner.compute()

        def reset(self) -> None:
            """Forgets them."""
            super().reset()
            if self.inner is not None:
                self.inner.reset()

    return type(name, (InferringMetric,), {})
