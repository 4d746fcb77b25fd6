"""The shapes of tensors that variables, attributes and parameters get, where somebody asks for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ... import hooks

if TYPE_CHECKING:
    from ..watch import Watch

MOST = 4  # different shapes of one place


class Watcher:
    """Is given what each target of an assignment got, right after it."""

    def __init__(self, watch: Watch) -> None:
        self._tensor = watch.torch.Tensor
        self._recorder = watch.recorder
        self._told: dict[int, set[tuple[Any, ...]]] = {}

    def install(self) -> None:
        """Puts what rewritten code calls in place."""
        tensor, recorder, tell = self._tensor, self._recorder, self._tell

        def shaped(key: int, value: Any) -> None:
            if isinstance(value, tensor) and not recorder.quiet:
                recorder.safely(tell, key, value)

        hooks.put("shaped", shaped)

    def _tell(self, key: int, value: Any) -> None:
        recorder = self._recorder
        axes = tuple(map(str, value.shape))
        dtype, device = str(value.dtype).rpartition(".")[2], str(value.device)
        told = self._told.setdefault(key, set())
        if len(told) >= MOST or (axes, dtype, device) in told:
            return
        told.add((axes, dtype, device))
        name = recorder.index.nodes[key].text
        site = recorder.index.site(key)
        recorder.event("Shaped", recorder.here(), site=site, name=name, axes=axes, dtype=dtype, device=device)
