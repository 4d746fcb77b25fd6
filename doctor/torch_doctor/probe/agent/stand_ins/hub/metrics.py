"""Metrics that `evaluate` would fetch the code of: every result is 0."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from ...imports import after
from .. import told
from ..silent import SilentModule
from ..stand_in import StandIn

if TYPE_CHECKING:
    from types import ModuleType


# Metric → what `compute` gives, https://huggingface.co/evaluate-metric.
RESULTS = {
    "f1": ("f1",),
    "glue": ("accuracy", "f1", "pearson", "spearmanr", "matthews_correlation"),
    "seqeval": ("overall_precision", "overall_recall", "overall_f1", "overall_accuracy"),
    "squad": ("exact_match", "f1"),
    "squad_v2": ("exact", "f1"),
    "rouge": ("rouge1", "rouge2", "rougeL", "rougeLsum"),
    "sacrebleu": ("score", "bp"),
    "bleu": ("bleu", "brevity_penalty"),
    "perplexity": ("mean_perplexity",),
    "mse": ("mse",),
}


class Metrics(StandIn):
    """Metrics of `evaluate`, and those that `datasets` once had."""

    replaces = "the probe downloads nothing"
    voids = (told.LOG,)

    def prepare(self) -> None:
        """Patches `evaluate`, and the metrics that `datasets` once had."""
        after("evaluate", functools.partial(_patch, self, "load"))
        after("datasets", functools.partial(_patch, self, "load_metric"))


class MetricResult(dict[str, Any]):
    """What a metric comes to: 0, under whatever name it is asked for."""

    def __missing__(self, name: str) -> float:
        return 0.0


class Metric:
    """A metric that takes predictions and forgets them."""

    def __init__(self, *names: str) -> None:
        self.name = names[0] if names else ""
        self._names = [result for name in names for result in RESULTS.get(name, (name,))]

    def add(self, *_: Any, **__: Any) -> None:
        """Nothing."""

    add_batch = add

    def compute(self, *_: Any, **__: Any) -> MetricResult:
        """Zeros."""
        return MetricResult(dict.fromkeys(self._names, 0.0))


def _patch(stand_in: StandIn, name: str, module: ModuleType) -> None:
    library: Any = module
    load = getattr(library, name, None)
    if load is None:
        return

    @functools.wraps(load)
    def loaded(path: str, *arguments: Any, **keywords: Any) -> Any:
        try:
            return load(path, *arguments, **keywords)
        except (OSError, ImportError):
            what = f"{library.__name__}.{name}({path!r})"
            stand_in.tell(what, "a metric that is always 0")
            return Metric(str(path))

    setattr(library, name, loaded)
    if hasattr(library, "combine"):
        library.combine = lambda names, *_, **__: Metric(*map(str, names))


def make_evaluate(name: str) -> ModuleType:
    """`evaluate`, where it is not installed."""
    library: Any = SilentModule(name)
    library.load = lambda path, *_, **__: Metric(str(path))
    library.combine = lambda names, *_, **__: Metric(*map(str, names))
    made: ModuleType = library
    return made
