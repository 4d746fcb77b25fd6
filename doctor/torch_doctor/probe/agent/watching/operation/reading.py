"""Numbers of tensors that the user's code reads in its loops: by `item`, by `print`, in a text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ... import hooks
from ...stand_ins.cuda.devices import needed

if TYPE_CHECKING:
    from ..watch import Watch

MOST = 64  # events of one place: enough to see every pass of the loops around it


class Watcher:
    """Is given every value that the user's code may read so, right before it does."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._tensor = watch.torch.Tensor
        self._recorder = watch.recorder
        self._pretends = needed(watch.torch, watch.recorder.plan)
        self._told: dict[int, int] = {}

    def install(self) -> None:
        """Puts what instrumented code calls in place."""
        tensor, recorder, tell = self._tensor, self._recorder, self._tell

        def read(key: int, value: Any) -> Any:
            if isinstance(value, tensor) and not (recorder.inside or recorder.quiet or recorder.rests()):
                recorder.safely(tell, key, value)
            return value

        hooks.put("read", read)

    def _tell(self, key: int, value: Any) -> None:
        recorder = self._recorder
        here = recorder.here()
        times = self._told.get(key, 0)
        if not here.loops or times >= MOST:
            return
        self._told[key] = times + 1
        node = recorder.index.nodes[key]
        on_gpu = True if value.is_cuda else None if self._pretends else False
        recorder.event(
            "ValueRead",
            here,
            site=recorder.index.site(key),
            name=node.text,
            how=node.how,
            value=self._watch.facts.of(value),
            on_gpu=on_gpu,
        )
