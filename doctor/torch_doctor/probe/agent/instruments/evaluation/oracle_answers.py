"""Answers that are made from the labels of a batch, in the form in which a model answers."""

from __future__ import annotations

from typing import Any

PERFECT, CONSTANT, SHUFFLED, RANDOM = "perfect", "constant", "shuffled", "random"
ORACLES = (PERFECT, CONSTANT, SHUFFLED, RANDOM)
CLASSES, MARKS, NUMBERS = "classes", "marks", "numbers"
"""What labels are: the number of a class, 0 or 1 for each score, or any number."""
SURE = 10.0  # a logit that leaves no doubt
REST = 1e-4  # the probability of what is not meant: a model gives none of exactly 0 or 1
COLUMN = 2  # dimensions of labels, of which each sample has one
NEAR = 1e-3
DEEPEST = 5  # dimensions of an output


class Form:
    """What the answers of a model are, and which tensor of a batch has the labels.

    `place` is that of the labels among the tensors of a batch, `axis` the dimension of the classes. `shares`: the answers are
    probabilities; `logs`: their logarithms. `unknown` says why no answers can be made, "" where they can.
    """

    def __init__(self, torch: Any, output: Any, tensors: list[Any], given: list[Any]) -> None:
        self._torch = torch
        self.kind, self.place, self.axis, self.unknown = "", -1, -1, ""
        self.shares = self.logs = False
        if not isinstance(output, torch.Tensor) or not output.is_floating_point() or not 1 <= output.dim() <= DEEPEST:
            self.unknown = "the output of the model is no tensor of scores"
            return
        known = {each.untyped_storage().data_ptr() for each in given}
        found = []
        for place, tensor in enumerate(tensors):
            fits = None if tensor.untyped_storage().data_ptr() in known else self._fits(output.detach(), tensor)
            if fits is not None:
                found.append((place, *fits))
        if len(found) != 1:
            self.unknown = f"{len(found) or 'no'} tensors of the batch may be the labels of the output"
            return
        self.place, self.kind, self.axis = found[0]
        self._read(output.detach())

    def fits(self, output: Any, labels: Any) -> bool:
        """Whether an output and its labels have this form, too."""
        fits = self._fits(output, labels) if isinstance(output, self._torch.Tensor) else None
        binary = (self.kind, -1) if self.kind == MARKS and output.numel() == labels.numel() else None
        return (binary or fits) == (self.kind, self.axis)

    def _fits(self, output: Any, labels: Any) -> tuple[str, int] | None:
        """What labels are to an output, and where the classes are; None where a tensor is none of its labels."""
        shape, own = tuple(output.shape), tuple(labels.shape)
        if not labels.numel() or labels.is_complex():
            return None
        whole = not labels.is_floating_point()
        low, high = float(labels.min()), float(labels.max())
        if own == shape or (output.numel() == labels.numel() and own[:1] == shape[:1] and labels.dim() <= COLUMN):
            marks = set(labels.unique().tolist()) <= {0, 1} if low == 0 and high == 1 else False
            return (MARKS if marks else NUMBERS, -1) if marks or not whole else None
        if not whole or low < 0 or labels.dim() > output.dim():
            return None
        for axis in (1, output.dim() - 1):
            rest, single = shape[:axis] + shape[axis + 1 :], (*shape[:axis], 1, *shape[axis + 1 :])
            if output.dim() > 1 and own in (rest, single) and high < shape[axis]:
                return CLASSES, axis
        return None

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

    def made(self, oracle: str, output: Any, labels: Any, generator: Any) -> Any:
        """The answers of an oracle."""
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
            chosen = labels
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
