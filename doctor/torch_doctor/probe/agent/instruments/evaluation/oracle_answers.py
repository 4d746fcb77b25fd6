"""Answers that are made from the labels of a batch, in the form in which a model answers."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

PERFECT, CONSTANT, SHUFFLED, RANDOM = "perfect", "constant", "shuffled", "random"
FIRST, LAST = "first", "last"
"""Perfect answers but for some of the first batch, and as many of a last batch that is smaller."""
ORACLES = (PERFECT, CONSTANT, SHUFFLED, RANDOM)
CLASSES, MARKS, NUMBERS = "classes", "marks", "numbers"
"""What labels are: the number of a class, 0 or 1 for each score, or any number."""
SURE = 10.0  # a logit that leaves no doubt
REST = 1e-4  # the probability of what is not meant: a model gives none of exactly 0 or 1
COLUMN = 2  # dimensions of labels, of which each sample has one
NEAR = 1e-3
DEEPEST = 5  # dimensions of an output


class Spoilt(NamedTuple):
    """Answers that are to be wrong: so many of those whose label is this, in one batch, counted from 0."""

    batch: int
    label: float
    many: int


class Form:
    """What the answers of a model are, and which tensor of a batch has the labels.

    `place` is that of the labels among the tensors of a batch, `axis` the dimension of the classes, which a loss may have shown.
    `shares`: the answers are probabilities; `logs`: their logarithms. `unknown` says why no answers can be made, "" where they
    can.
    """

    def __init__(
        self, torch: Any, output: Any, tensors: list[Any], given: list[Any], shown: frozenset[int] = frozenset()
    ) -> None:
        self._torch = torch
        self.kind, self.place, self.axis, self.unknown = "", -1, -1, ""
        self.shares = self.logs = False
        if not isinstance(output, torch.Tensor) or not output.is_floating_point() or not 1 <= output.dim() <= DEEPEST:
            self.unknown = "the output of the model is no tensor of scores"
            return
        known = {each.untyped_storage().data_ptr() for each in given}
        found: dict[int, tuple[int, str, list[int]]] = {}
        for place, tensor in enumerate(tensors):
            storage = tensor.untyped_storage().data_ptr()
            fits = None if storage in known else self._fits(output.detach(), tensor)
            if fits is not None:
                found.setdefault(storage, (place, *fits))
        if len(found) != 1:
            self.unknown = f"{len(found) or 'no'} tensors of the batch may be the labels of the output"
            return
        self.place, self.kind, axes = next(iter(found.values()))
        if len(axes) > 1:
            axes = [axis for axis in axes if axis - output.dim() in shown]
        if len(axes) != 1:
            self.unknown = "two dimensions of the output may have the classes"
            return
        self.axis = axes[0]
        self._read(output.detach())

    def fits(self, output: Any, labels: Any) -> bool:
        """Whether an output and its labels have this form, too."""
        fits = self._fits(output, labels) if isinstance(output, self._torch.Tensor) else None
        if self.kind == MARKS:
            return isinstance(output, self._torch.Tensor) and bool(output.numel() == labels.numel())
        return fits is not None and fits[0] in (self.kind, MARKS) and self.axis in fits[1]

    def _fits(self, output: Any, labels: Any) -> tuple[str, list[int]] | None:
        """What labels are to an output, and where the classes may be; None where a tensor is none of its labels."""
        shape, own = tuple(output.shape), tuple(labels.shape)
        if not labels.numel() or labels.is_complex():
            return None
        whole = not labels.is_floating_point()
        low, high = float(labels.min()), float(labels.max())
        if own == shape or (output.numel() == labels.numel() and own[:1] == shape[:1] and labels.dim() <= COLUMN):
            marks = set(labels.unique().tolist()) <= {0, 1} if low == 0 and high == 1 else False
            return (MARKS if marks else NUMBERS, [-1]) if marks or not whole else None
        if not whole or low < 0 or labels.dim() > output.dim():
            return None
        axes = []
        for axis in sorted({1, output.dim() - 1}):
            rest, single = shape[:axis] + shape[axis + 1 :], (*shape[:axis], 1, *shape[axis + 1 :])
            if output.dim() > 1 and own in (rest, single) and high < shape[axis]:
                axes.append(axis)
        return (CLASSES, axes) if axes else None

    def _read(self, output: Any) -> None:
        if self.kind == NUMBERS:
            return
        self.shares = bool((output >= 0).all() and (output <= 1).all())
        if self.kind == CLASSES:
            sums = output.sum(self.axis)
            self.shares &= bool(((sums - 1).abs() < NEAR).all())
            total = output.double().exp().sum(self.axis)
            self.logs = bool((output <= 0).all()) and bool(((total - 1).abs() < NEAR).all())

    def _plain(self, output: Any, labels: Any) -> Any:
        """The labels without a dimension of size 1 where the output has the classes."""
        return labels.squeeze(self.axis) if self.kind == CLASSES and labels.dim() == output.dim() else labels

    def empty(self, output: Any, labels: Any) -> Any:
        """An output for other labels, with nothing in it; None where its shape is not known. `output` is one of the model's."""
        if self.kind == CLASSES:
            plain = labels.squeeze(self.axis) if labels.dim() == output.dim() else labels
            shape = [*plain.shape[: self.axis], output.shape[self.axis], *plain.shape[self.axis :]]
        else:
            shape = [len(labels), *output.shape[1:]]
            if math.prod(shape) != labels.numel():
                return None
        return self._torch.zeros(shape, dtype=output.dtype)

    def most(self, labels: Any) -> dict[float, int]:
        """How often each label is there; of numbers, which are all alike, how many there are."""
        if self.kind == NUMBERS:
            return {0.0: int(labels.numel())}
        values, counts = labels.detach().cpu().unique(return_counts=True)
        return dict(zip(values.double().tolist(), counts.tolist(), strict=True))

    def _spoilt(self, output: Any, labels: Any, wrong: Spoilt) -> Any:
        """The labels, of which some are others."""
        chosen = labels.clone().flatten()
        if self.kind == NUMBERS:
            chosen[: wrong.many] += 1
            return chosen.view(labels.shape)
        places = (chosen == wrong.label).nonzero().flatten()[: wrong.many]
        other = 1 - wrong.label if self.kind == MARKS else (wrong.label + 1) % output.shape[self.axis]
        chosen[places] = other
        return chosen.view(labels.shape)

    def made(self, oracle: str, output: Any, labels: Any, generator: Any, wrong: Spoilt | None = None) -> Any:
        """The answers of an oracle, in a batch in which some are wrong on purpose."""
        torch = self._torch
        labels = self._plain(output, labels.detach().to("cpu"))
        if oracle == CONSTANT:
            middle = labels.double().mean() if self.kind == NUMBERS else labels.flatten().mode().values
            chosen = torch.full_like(labels, middle.item())
        elif oracle == RANDOM and self.kind == NUMBERS:
            chosen = torch.randn(labels.shape, generator=generator) * labels.double().std() + labels.double().mean()
        elif oracle == RANDOM:
            most = output.shape[self.axis] if self.kind == CLASSES else 2
            chosen = torch.randint(most, labels.shape, generator=generator)
        elif oracle == SHUFFLED:
            order = torch.randperm(labels.numel(), generator=generator)
            chosen = labels.flatten()[order].view(labels.shape)
        else:
            chosen = labels if wrong is None else self._spoilt(output, labels, wrong)
        return self._answers(output, chosen)

    def _answers(self, output: Any, chosen: Any) -> Any:
        torch = self._torch
        if self.kind == NUMBERS:
            return chosen.reshape(output.shape).to(output.dtype)
        if self.kind == MARKS:
            marked = chosen.reshape(output.shape).to(output.dtype)
            return marked * (1 - 2 * REST) + REST if self.shares else (marked * 2 - 1) * SURE
        marked = torch.nn.functional.one_hot(chosen.long(), output.shape[self.axis]).movedim(-1, self.axis)
        marked = marked.to(output.dtype)
        shares = marked * (1 - output.shape[self.axis] * REST) + REST
        return shares.log() if self.logs else shares if self.shares else marked * SURE

    def right(self, answers: Any, labels: Any) -> tuple[int, int]:
        """How many of the answers are right, and how many there are; none for numbers, which are more or less right."""
        if self.kind == NUMBERS:
            return 0, 0
        labels = self._plain(answers, labels.detach().to(answers.device))
        if self.kind == CLASSES:
            chosen = answers.argmax(self.axis)
        else:
            chosen = (answers > (0.5 if self.shares else 0)).reshape(labels.shape)
        return int((chosen == labels).sum()), labels.numel()
