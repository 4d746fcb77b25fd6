"""Answers that are made from labels of which some are padding or void."""

from __future__ import annotations

from typing import Any

COMPLETE, OTHERS, WRONG = "complete", "others", "wrong"
"""Correct answers, correct answers with others where the labels are padding, and wrong answers."""
ORACLES = (COMPLETE, OTHERS, WRONG)
DEFAULT = -100  # what losses leave out by themselves
SURE = 10.0  # a logit that leaves no doubt


class PaddedForm:
    """Which tensor of a batch has such labels of the output, and how answers to them look.

    `valid` has the share of the labels that are not left out, for each batch that was answered.
    `place` is that of the labels among the tensors of a batch, -1 where none has labels that are left out; `axis` is the
    dimension of the classes, `labels` how many the first batch has, and `unknown` says why no answers can be made.
    """

    def __init__(self, torch: Any, output: Any, tensors: list[Any], ignored: set[int]) -> None:
        self._torch = torch
        self._ignored, self._named = torch.tensor(sorted(ignored)), len(ignored) > 1
        self.valid: list[float] = []
        self.place, self.axis, self.labels, self.unknown = -1, -1, 0, ""
        if not isinstance(output, torch.Tensor) or not output.is_floating_point() or output.dim() < 2:  # noqa: PLR2004 - classes
            return
        for place, labels in enumerate(tensors):
            axis = self._axis(output, labels)
            if axis is None or not (self._named or bool(self._void(labels).any())):
                continue
            if self.place >= 0:
                self.unknown = "several tensors of the batch may be the labels of the output"
            self.place, self.axis, self.labels = place, axis, labels.numel()

    def _void(self, labels: Any) -> Any:
        return self._torch.isin(labels.detach().cpu(), self._ignored)

    def _axis(self, output: Any, labels: Any) -> int | None:
        """The dimension of the classes, if these are labels of the output, each of several for a sample."""
        if labels.is_floating_point() or labels.dtype == self._torch.bool or labels.dim() < 2 or not labels.numel():  # noqa: PLR2004 - samples and places
            return None
        valid = labels.detach().cpu()[~self._void(labels)]
        if not valid.numel():
            return None
        for axis in (1, output.dim() - 1):
            rest = output.shape[:axis] + output.shape[axis + 1 :]
            flat = rest.numel() == labels.numel() and len(rest) == 1
            if (rest == labels.shape or flat) and int(valid.min()) >= 0 and int(valid.max()) < output.shape[axis]:
                return axis
        return None

    def fits(self, output: Any, labels: Any) -> bool:
        """Whether an output and its labels have this form, too."""
        return isinstance(output, self._torch.Tensor) and self._axis(output, labels) == self.axis

    def made(self, oracle: str, output: Any, labels: Any, *_: Any) -> Any:
        """The answers of an oracle."""
        torch, classes = self._torch, output.shape[self.axis]
        labels, void = labels.detach().cpu().long(), self._void(labels)
        inside = (labels >= 0) & (labels < classes)
        chosen = torch.where(inside, labels, 0)
        if oracle == OTHERS:
            chosen = torch.where(void, (chosen + 1) % classes, chosen)
        elif oracle == WRONG:
            chosen = torch.where(void, chosen, (chosen + 1) % classes)
        rest = output.shape[: self.axis] + output.shape[self.axis + 1 :]
        marked = torch.nn.functional.one_hot(chosen.reshape(rest), classes).movedim(-1, self.axis)
        return marked.to(output.dtype) * SURE

    def most(self, labels: Any) -> dict[float, int]:
        """How often each label is there, which nobody asks."""
        return {}

    def right(self, output: Any, labels: Any) -> tuple[int, int]:
        """How many labels are left out, and how many there are; the share of the others is noted, for each batch."""
        void = int(self._void(labels).sum())
        self.valid.append(1 - void / labels.numel())
        return void, labels.numel()
