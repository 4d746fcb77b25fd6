"""Which dimension of a model's output has the classes: the one that a loss takes for them, or that a library says."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from torch_doctor.static.domains.axes import Sizes
from torch_doctor.static.domains.axes.comparing import PASSING
from torch_doctor.static.domains.axes.origins import At, before
from torch_doctor.static.tables import words
from torch_doctor.static.training.loss.language_models import are_of_classes
from torch_doctor.static.training.module import written_forwards
from torch_doctor.static.values import Making, Tensor
from torch_doctor.static.values.shapes import Returned
from torch_doctor.trace import LossCalled

if TYPE_CHECKING:
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Value
    from torch_doctor.trace import Site, Tri

OF_CLASSES: Final = frozenset(words("cross_entropy nll_loss CrossEntropyLoss NLLLoss"))
"""Losses that take dimension 1 for the classes, or the only one."""
_SAME: Final = PASSING | frozenset(words("softmax log_softmax sigmoid logsigmoid nn.Softmax nn.LogSoftmax nn.Sigmoid"))
_DEEPEST: Final = 20
_OF_LIBRARY: Final = 0
"""The number of no model: that of a library whose scores have the classes in the last dimension."""


class ClassAxes:
    """The dimensions of the outputs of models that losses take for the classes, by model and number of dimensions."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int], set[int]] = {}
        self._used: dict[Site, list[tuple[int, At]]] = {}  # by the place of a loss, which is not written yet

    def used(self, run: Run, scores: Value, site: Site) -> None:
        """A loss is computed of scores."""
        if (found := _output(run, scores, 1)) is not None:
            self._used.setdefault(site, []).append(found)

    def are(self, run: Run, scores: Value, dim: int) -> Tri:
        """Whether a dimension of scores has the classes; None where no loss of the same output shows it."""
        for loss in run.trace.of(LossCalled) if self._used else ():
            for module, at in self._used.pop(loss.site, ()):
                if loss.loss.rpartition(".")[2] in OF_CLASSES:
                    self._known.setdefault((module, at.rank or 0), set()).add(at.place)
        found = _output(run, scores, dim)
        if found is not None and found[0] == _OF_LIBRARY:
            return found[1].place == -1
        known = self._known.get((found[0], found[1].rank or 0)) if found is not None else None
        return None if known is None or found is None else found[1].place in known


def _output(run: Run, scores: Value, dim: int) -> tuple[int, At] | None:
    """The model that scores come from, and where a dimension of them was in its output; None where that is not known."""
    sizes = partial(run.ask, Sizes)
    shape = sizes(scores)
    if shape is None or not -len(shape) <= dim < len(shape):
        return None
    at: At | None = At(scores, dim if dim < 0 else dim - len(shape), len(shape))
    for _ in range(_DEEPEST):
        if at is None or not at.exact or not isinstance(at.value, Tensor):
            return None
        made = at.value.meta
        if are_of_classes(at.value):
            return _OF_LIBRARY, at
        if isinstance(made, Returned):
            modules = {each.module for each in written_forwards.numbered(run, at.value.flow.forwards)}
            shape = sizes(at.value)
            return None if len(modules) != 1 or shape is None else (modules.pop(), at._replace(rank=len(shape)))
        if not isinstance(made, Making):
            return None
        at = at._replace(value=made.args[0]) if made.name in _SAME and made.args else before(made, at, sizes)
    return None
