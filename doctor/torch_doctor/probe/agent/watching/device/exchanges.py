"""What the script itself exchanges between processes, as those do that average gradients by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..watch import Watch

NAMES = ("all_reduce", "all_reduce_coalesced", "reduce", "broadcast", "all_gather", "all_gather_into_tensor")


class Watcher:
    """Wraps the functions of `torch.distributed` that the script calls; what wrappers do in a forward is theirs."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._recorder = watch.recorder

    def install(self) -> None:
        """Puts the wrappers in place."""
        distributed = self._watch.torch.distributed
        if distributed.is_available():
            for name in NAMES:
                for space in (distributed, distributed.distributed_c10d):
                    self._watch.patches.replace(space, name, self._exchanging(name))

    def _exchanging(self, name: str) -> Any:
        recorder = self._recorder

        def wrap(original: Any) -> Any:
            def exchange(*arguments: Any, **keywords: Any) -> Any:
                result = original(*arguments, **keywords)
                if not recorder.quiet and not recorder.inside and not recorder.rests():
                    recorder.safely(self._told, name, (*arguments, *keywords.values()))
                return result

            return exchange

        return wrap

    def _told(self, name: str, given: tuple[Any, ...]) -> None:
        here = self._recorder.here()
        numbers = sum(tensor.numel() for tensor in self._watch.marks.tensors(given) if tensor.is_floating_point())
        if here.frame is not None and numbers:
            self._recorder.event("Exchanged", here, function=f"torch.distributed.{name}", numbers=numbers)
