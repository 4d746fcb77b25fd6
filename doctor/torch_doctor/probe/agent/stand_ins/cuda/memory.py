"""Memory of the GPU that the CPU stands in for: which tensors lie in it, told by the storages that their views share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

KEY = "_torch_doctor_on_gpu"
NO_STORAGE = (NotImplementedError, RuntimeError, AttributeError, ValueError)
"""What asking for the storage raises: of a tensor that is sparse or fake, or of a parameter that has no shape yet."""
NOT_READABLE = (
    "can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first."
)


class GpuContents:
    """What was put on the GPU, and what was fetched from it; where neither is known, a tensor was computed.

    `used` tells that something was put there at all; `on_use` is called when that happens.
    """

    def __init__(self, torch: Any) -> None:
        self.used = False
        self.on_use: Callable[[], None] = lambda: None
        self._torch = torch
        self._to = torch.Tensor.to

    def on_gpu(self, tensor: Any) -> bool | None:
        """Whether a tensor lies there; None where that is not known."""
        try:
            storage = tensor.untyped_storage()
        except NO_STORAGE:
            return None
        return getattr(storage, KEY, None)

    def settle(self, tensor: Any, *, gpu: bool = True) -> Any:
        """A tensor lies there from now on, or on the CPU; returns the tensor."""
        try:
            setattr(tensor.untyped_storage(), KEY, gpu)
        except NO_STORAGE:
            return tensor
        if gpu and not self.used:
            self.used = True
            self.on_use()
        return tensor

    def put(self, tensor: Any, result: Any) -> Any:
        """What a move of `tensor` there gives, of which torch made `result`: a copy, unless it is there.

        What was computed with autograd was computed from parameters, which are.
        """
        known = self.on_gpu(tensor)
        if result is tensor:
            if known or (known is None and tensor.grad_fn is not None):
                return tensor
            result = self.copy(tensor)
        return self.settle(result)

    def fetched(self, tensor: Any, result: Any, *, surely: bool) -> Any:
        """What a move of `tensor` to the CPU gives, of which torch made `result`: a copy, unless it is known to be there.

        Not `surely`: `other.device` is that of the CPU, too, where it would be the GPU's.
        """
        if not self.used or self.on_gpu(tensor) is False or not (surely or not tensor.requires_grad or tensor.grad_fn):
            return result
        if result is tensor:
            result = self.copy(tensor)
        return self.settle(result, gpu=False) if surely else result

    def copy(self, tensor: Any) -> Any:
        """A tensor with memory of its own."""
        return tensor.clone() if tensor.is_sparse else self._to(tensor, "cpu", copy=True)

    def put_module(self, module: Any) -> None:
        """A module's parameters and buffers get memory there; the objects stay the same ones."""
        self._renew(module, gpu=True)

    def fetch_module(self, module: Any) -> None:
        """The way back."""
        if self.used:
            self._renew(module, gpu=False)

    def _renew(self, module: Any, *, gpu: bool) -> None:
        lazy = self._torch.nn.parameter.is_lazy
        for tensor in (*module.parameters(), *module.buffers()):
            if not lazy(tensor) and not tensor.is_sparse and bool(self.on_gpu(tensor)) is not gpu:
                with self._torch.no_grad():
                    tensor.data = tensor.data.clone()
                self.settle(tensor, gpu=gpu)
