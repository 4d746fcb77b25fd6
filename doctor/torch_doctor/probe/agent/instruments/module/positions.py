"""Sums of sequences and of rows of a table: has the table a row for each step, or for each sample?"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from ..instrument import Instrument as Base

if TYPE_CHECKING:
    from types import CodeType

    from ...scopes import Here
    from ...watching.watch import Watch

MOST = 3  # sums of one place that are told
PLACES = 500
SEQUENCES = 3  # dimensions of a batch of sequences: samples, steps, features


class Instrument(Base):
    """Wraps sums; told are those of a batch and of something with as many rows, each of which goes to all steps of one."""

    def __init__(self, watch: Watch) -> None:
        super().__init__(watch)
        self._seen: dict[tuple[CodeType, int], int] = {}
        self._rows = 0
        torch, replace = watch.torch, watch.patches.replace
        for owner, names in ((torch.Tensor, ("__add__", "__radd__", "__iadd__", "add", "add_")), (torch, ("add",))):
            for name in names:
                replace(owner, name, self._wrapping)

    def on_batch(self, batch: Any, here: Here, event: int) -> None:
        """A loader gave a batch: so many samples it has."""
        self._rows = next((len(each) for each in self.watch.marks.tensors(batch) if each.dim()), 0)

    def _wrapping(self, original: Any) -> Any:
        recorder, tensor, note = self.watch.recorder, self.watch.torch.Tensor, self._note

        def add(*arguments: Any, **keywords: Any) -> Any:
            result = original(*arguments, **keywords)
            if isinstance(result, tensor) and len(arguments) > 1 and result.dim() == SEQUENCES and not recorder.quiet:
                recorder.safely(note, arguments[:2], result, sys._getframe(1))
            return result

        return add

    def _note(self, operands: tuple[Any, ...], result: Any, frame: Any) -> None:
        torch = self.watch.torch
        tensors = [each for each in operands if isinstance(each, torch.Tensor)]
        if any(each.layout is not torch.strided or each.is_nested for each in (*tensors, result)):
            return  # these have no sizes
        if not any(_is_spread(each.shape, result.shape) for each in tensors):
            return
        recorder = self.watch.recorder
        sites = recorder.sites
        while frame.f_back is not None and sites.is_agents(frame.f_code.co_filename):  # it is watched twice
            frame = frame.f_back
        place = (frame.f_code, frame.f_lasti)
        if (
            len(self._seen) >= PLACES
            or self._seen.get(place, 0) >= MOST
            or not sites.is_users(frame.f_code.co_filename)
        ):
            return
        self._seen[place] = self._seen.get(place, 0) + 1
        rows, steps = result.shape[:2]
        if steps != self._rows:  # else nobody knows which of both are the samples
            recorder.event(
                "PositionsAdded",
                recorder.here(),
                site=sites.of_frame(frame),
                name="",
                shape=list(result.shape),
                over_batch=rows == self._rows,
            )


def _is_spread(one: Any, whole: Any) -> bool:
    """Whether a tensor of this shape has as many rows as another, and one step, which goes to all steps of that one."""
    return len(one) == SEQUENCES and one[0] == whole[0] > 1 and one[1] == 1 < whole[1]
