"""The tensors that a loader gave last, as they are: only of these dimension 0 has the rows for certain."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ...watching.watch import Watch


class LastBatch:
    """Knows a tensor of the last batch by itself: what the script makes of it may have its rows elsewhere."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._given: dict[int, weakref.ref[Any]] = {}

    def take(self, batch: Any) -> None:
        """A loader gave a batch."""
        self._given = {id(each): weakref.ref(each) for each in self._watch.marks.tensors(batch)}

    def has(self, tensor: Any) -> bool:
        """Whether this is one of its tensors, with rows."""
        known = self._given.get(id(tensor))
        whole = tensor.dim() > 0 and tensor.layout is self._watch.torch.strided
        return whole and known is not None and known() is tensor
