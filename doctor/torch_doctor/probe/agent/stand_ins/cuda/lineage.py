"""Results of operations on what lies on the GPU that the CPU stands in for: they lie there, too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .memory import GpuContents

MOVING = frozenset({"to", "cpu", "cuda", "type", "type_as", "numpy", "__array__", "tolist", "copy_", "pin_memory"})
"""What may give a tensor elsewhere than where its own is, or says itself where it is."""
REPLACED = frozenset({"to", "cpu", "type"})
"""Methods in whose place there are others: see `MoveReplacements` and `types`."""
RECURRENT = frozenset({"lstm", "gru", "rnn_tanh", "rnn_relu"})
"""Their layers make a first state by themselves, where their input is."""
DEEP = 3


class Lineage:
    """Follows operations from the moment that something lies on the GPU: what is computed of that alone lies there.

    What is computed of other tensors as well is left open: they may be on the CPU, or where nobody knows.
    """

    def __init__(self, torch: Any, memory: GpuContents) -> None:
        self._torch = torch
        self._memory = memory
        self._mode: Any = None

    def begin(self) -> None:
        """Something lies on the GPU."""
        if self._mode is None:
            self._mode = self._following()
            self._mode.__enter__()

    def _following(self) -> Any:
        torch, memory = self._torch, self._memory

        class Following(torch.overrides.TorchFunctionMode):  # type: ignore[misc, name-defined]
            def __torch_function__(self, function: Any, _: Any, args: Any = (), kwargs: Any = None) -> Any:
                name = getattr(function, "__name__", "")
                if name in REPLACED:  # torch looks methods up by name, and finds what is calling this one
                    function = getattr(torch._C.TensorBase, name)
                result = function(*args, **(kwargs or {}))
                if name not in MOVING:
                    given = _tensors((args, kwargs), torch.Tensor)[: 1 if name in RECURRENT else None]
                    if given and all(memory.on_gpu(each) for each in given):
                        for each in _tensors(result, torch.Tensor):
                            if memory.on_gpu(each) is None:
                                memory.settle(each)
                return result

        return Following()


def _tensors(value: Any, kind: type, depth: int = DEEP) -> list[Any]:
    """The tensors in a value and its containers."""
    if isinstance(value, kind):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    if not depth or not isinstance(value, (tuple, list)):
        return []
    return [tensor for each in value for tensor in _tensors(each, kind, depth - 1)]
