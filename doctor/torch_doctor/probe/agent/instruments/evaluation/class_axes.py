"""Which dimension of a model's output a loss takes for the classes, followed through autograd's graph."""

from __future__ import annotations

import weakref
from collections import deque
from typing import TYPE_CHECKING, Any

from ...watching.loss.weights import MOVING, PASSING
from ...watching.marks import noted, on_node
from ..instrument import Instrument as Base

if TYPE_CHECKING:
    from ...scopes import Here
    from ...watching.watch import Watch

OF_CLASSES = frozenset(("cross_entropy", "nll_loss", "CrossEntropyLoss", "NLLLoss"))
"""Losses that take dimension 1 for the classes."""
SAME = (*PASSING, "LogSoftmax", "Softmax")
MATRIX = 2  # dimensions of samples and classes
DEEPEST = 12
MOST = 200  # calls of models that are remembered
LATEST = 8  # outputs of models that are known again
OUTPUT = "output of"


class ClassDimensions:
    """The dimensions by model and number of dimensions, and the models by the numbers of their forwards."""

    def __init__(self) -> None:
        self.known: dict[tuple[int, int], set[int]] = {}
        self.models: dict[int, int] = {}
        self.answers: deque[weakref.ref[Any]] = deque(maxlen=LATEST)

    def is_answer(self, given: Any) -> bool:
        """Whether this is what a model returned, as it is: none of its dimensions has changed places since."""
        return any(each() is given for each in self.answers)

    def are(self, forwards: frozenset[int], given: Any, dim: int) -> bool | None:
        """Whether a dimension of a model's output has the classes; None where no loss showed it."""
        models = {self.models[each] for each in forwards if each in self.models}
        known = self.known.get((models.pop(), given.dim())) if len(models) == 1 else None
        return None if known is None else (dim if dim < 0 else dim - given.dim()) in known


class Instrument(Base):
    """Keeps the dimensions for who asks of a choice among them."""

    def __init__(self, watch: Watch) -> None:
        super().__init__(watch)
        self._axes = watch.class_axes = ClassDimensions()

    def on_forward(
        self, module: Any, arguments: tuple[Any, ...], keywords: dict[str, Any], output: Any, here: Here, event: int
    ) -> None:
        """A model answered."""
        number = self.watch.recorder.references.number(module)
        if len(self._axes.models) < MOST:
            self._axes.models[event] = number
        if not isinstance(output, self.watch.torch.Tensor):
            return
        self._axes.answers.append(weakref.ref(output))
        if output.grad_fn is not None:
            on_node(output.grad_fn)[OUTPUT] = number, output.dim()

    def on_loss(
        self, loss: str, arguments: tuple[Any, ...], keywords: dict[str, Any], value: Any, here: Here, event: int
    ) -> None:
        """A loss was computed."""
        scores = arguments[0] if arguments else keywords.get("input")
        if (
            loss.rpartition(".")[2] not in OF_CLASSES
            or not isinstance(scores, self.watch.torch.Tensor)
            or scores.dim() < MATRIX
        ):
            return
        node, dim = scores.grad_fn, 1 - scores.dim()
        shape: tuple[int, ...] | None = tuple(scores.shape)
        for _ in range(DEEPEST):
            output = (noted(node) or {}).get(OUTPUT) if node is not None else None
            if output is not None:
                self._axes.known.setdefault(output, set()).add(dim)
                return
            name = "" if node is None else node.name().partition("Backward")[0]
            if name in MOVING:
                before = MOVING[name](node, shape, dim)
                if before is None or before[1] is None:
                    return
                dim, shape = before
            elif name not in SAME:
                return
            node = node.next_functions[0][0]
