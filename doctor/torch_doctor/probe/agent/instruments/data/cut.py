"""Cuts the padding off the shortest sequence of a batch."""

from __future__ import annotations

from typing import Any


class Cut:
    """The shortest sequence of a batch, twice (layers may drop a dimension of one), without its padding."""

    def __init__(self, torch: Any, behind: Any) -> None:
        self._torch = torch
        self._rows, self._steps = behind.shape
        valid = (~behind).sum(1)
        row = int(valid.masked_fill(valid == 0, self._steps).argmin())
        self._both = torch.tensor([row, row])
        self._kept = (~behind[row]).nonzero().flatten()

    def inputs(self, value: Any) -> Any:
        """What the model gets for it, of what it got for the batch."""
        if isinstance(value, self._torch.Tensor):
            return self._of(value)
        if isinstance(value, dict):
            return {key: self.inputs(each) for key, each in value.items()}
        if type(value) is list and len(value) == self._rows and not any(map(self._nested, value)):
            return [value[row] for row in self._both.tolist()]
        return type(value)(map(self.inputs, value)) if type(value) in (list, tuple) else value

    def answer(self, value: Any) -> Any:
        """Its part of an answer for the batch; None where that cannot be told."""
        cut = self._of(value)
        return None if cut is value else cut

    def _nested(self, value: Any) -> bool:
        return isinstance(value, (self._torch.Tensor, list, tuple, dict))

    def _of(self, value: Any) -> Any:
        both, kept = self._both.to(value.device), self._kept.to(value.device)
        if value.shape[:2] == (self._steps, self._rows) != (self._rows, self._steps):
            return value.index_select(0, kept).index_select(1, both)
        if value.dim() and value.shape[0] == self._rows:
            value = value.index_select(0, both)
            return value.index_select(1, kept) if value.shape[1:2] == (self._steps,) else value
        return value.index_select(1, both) if value.shape[1:2] == (self._rows,) else value  # the states of layers
