"""Whether a model can know where the targets of a loss end: if it has to predict that, padding is a target on purpose."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ...watching.watch import Watch
    from ..data.padded import Padded

KEPT = 32  # tensors that models got
FAR = 60  # operations that are followed back from predictions


class KnownEnds:
    """What models got since gradients came back last: sequences that are padded as the targets are tell where these end."""

    def __init__(self, watch: Watch, padded: Padded) -> None:
        self._watch = watch
        self._padded = padded
        self._given: deque[Any] = deque(maxlen=KEPT)

    def given(self, arguments: Any, keywords: Any) -> None:
        """Remembers the tensors that a model gets; numbers for a whole sample or batch and masks have no places."""
        self._given.extend(
            each
            for each in self._watch.marks.tensors((arguments, keywords))
            if each.dim() > 1 and each.dtype != self._watch.torch.bool
        )

    def forget(self) -> None:
        """Forgets them: another batch comes."""
        self._given.clear()

    def beside(self, targets: Any) -> bool:
        """Whether a model got sequences that end where the targets do, or the targets themselves and nothing else.

        A decoder that gets the targets and something of another length, such as a text, has to find out where they end.
        """
        target = self._padded.entry(targets)
        entries = [self._padded.entry(each) for each in self._given]
        alike = [each for each in entries if each is not None and target is not None and each.ends_with(target)]
        return any(each is not target for each in alike) or (bool(alike) and len(alike) == len(entries))

    def anywhere(self) -> bool:
        """Whether a model got any padded sequences."""
        return any(self._padded.has(each) for each in self._given)

    def at_once(self, scores: Any, places: int) -> bool:
        """Whether one row of a product gave the predictions of several places: such a model knows no places in its input."""
        step = scores.grad_fn
        for _ in range(FAR):
            rows = getattr(step, "_saved_mat1_sym_sizes", None)
            if rows is not None:
                return int(rows[0]) < places
            following = [] if step is None else [each for each, _ in step.next_functions if each is not None]
            if len(following) != 1:
                return False
            step = following[0]
        return False
