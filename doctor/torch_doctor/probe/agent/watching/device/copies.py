"""Copies of tensors on another device: what is known of a tensor holds for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..marks import NOTHING

if TYPE_CHECKING:
    from ..watch import Watch

MOVES = ("to", "cuda", "cpu")


class Watcher:
    """Wraps these methods of tensors; a copy of another dtype is something else."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._recorder = watch.recorder

    def install(self) -> None:
        """Puts the wrappers in place."""
        for name in MOVES:
            self._watch.patches.replace(self._watch.torch.Tensor, name, self._moving)

    def _moving(self, original: Any) -> Any:
        recorder = self._recorder

        def move(tensor: Any, *arguments: Any, **keywords: Any) -> Any:
            result = original(tensor, *arguments, **keywords)
            if result is not tensor and not recorder.quiet:
                recorder.safely(self._copied, tensor, result)
            return result

        return move

    def _copied(self, tensor: Any, result: Any) -> None:
        marks = self._watch.marks
        mark = marks.of(tensor)
        if mark is not NOTHING and result.dtype == tensor.dtype:
            marks.put(result, mark)
