"""What takes the memory of a step: parameters, gradients, optimizer states, and what is kept for the backward pass."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from .batches import leaves, rows
from .layers import Layers
from .telling import fact

if TYPE_CHECKING:
    from collections.abc import Generator

    from .plays import Play, Seen
    from .stage import Stage

MOST = 8
MUCH = 0.5
"""The part of the memory from which on a step on a CPU is told how to take less."""
ADVICE = (
    "a smaller batch",
    "gradient accumulation, which keeps the batch size of an update",
    "activation checkpointing with `torch.utils.checkpoint.checkpoint`",
    "mixed precision with `torch.autocast`",
)
"""What saves memory, in the order in which to try it: what changes least in the script comes first."""


class Tensor:
    """A tensor that lives during a step."""

    __slots__ = ("name", "shape", "size")

    def __init__(self, name: str, tensor: Any) -> None:
        self.name = name
        self.shape = " × ".join(map(str, tensor.shape)) or "one number"
        self.size = size_of(tensor)


class StepMemory:
    """Of one step: the bytes of each part, those `kept` for the backward pass, and the largest tensors by name and line."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._packed: dict[int, Tensor] = {}
        self._lasting: dict[int, Tensor] = {}
        self._made: list[Tensor] = []
        self.layers = Layers(stage.model)
        self.parts: dict[str, int] = {}
        self.kept = 0

    def measure(self) -> Generator[Play, Seen, None]:
        """Repeats the step once, and looks at all that it saves."""
        stage = self._stage
        known = _parameters(stage)
        hooks = stage.torch.autograd.graph.saved_tensors_hooks(self._pack, lambda tensor: tensor)
        handles = self.layers.follow()
        try:
            with hooks:
                yield from stage.play()
        finally:
            for each in handles:
                each.remove()
        gradients = states = 0
        for name, each in known:
            self._lasting[each.untyped_storage().data_ptr()] = Tensor(name, each)
            if each.grad is not None and not each.grad.is_sparse:
                gradients += size_of(each.grad)
                self._made.append(Tensor(f"{name}.grad", each.grad))
        names = {id(each): name for name, each in known}
        for optimizer in stage.optimizers:
            for parameter, held in optimizer.state.items():
                for key, value in held.items():
                    if isinstance(value, stage.torch.Tensor) and not value.is_sparse:
                        states += size_of(value)
                        name = f"{key} of {names.get(id(parameter), 'a parameter')}"
                        self._made.append(Tensor(name, value))
        self.kept = sum(each.size for place, each in self._packed.items() if place not in self._lasting)
        self.parts = {
            "parameters": sum(size_of(each) for _, each in known),
            "gradients": gradients,
            "optimizer": states,
            "saved for the backward pass": self.kept,
        }
        for path, each in leaves(stage.batch) if stage.batch is not None else ():
            if not each.is_sparse and not each.is_quantized:
                self._lasting.setdefault(each.untyped_storage().data_ptr(), Tensor(path, each))

    def _pack(self, tensor: Any) -> Any:
        """A tensor is saved: by whom, and in which line."""
        if tensor.layout is self._stage.torch.strided and not tensor.is_meta:
            frame = self._stage.recorder.sites.frame(1)
            where = "" if frame is None else f" at {os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}"
            layer = next(reversed(self.layers.under_way), "")
            said = f"saved by `{layer}`{where}" if layer else f"saved for the backward pass{where}"
            self._packed.setdefault(tensor.untyped_storage().data_ptr(), Tensor(said, tensor))
        return tensor

    def facts(self) -> list[dict[str, Any]]:
        """The parts in bytes, then the largest tensors."""
        found = [fact(label, value, "bytes", group="memory") for label, value in self.parts.items()]
        # A gradient may lie where the backward pass has freed what was saved, so an address is not enough to tell them apart.
        lived = [*{**self._packed, **self._lasting}.values(), *self._made]
        largest = sorted(lived, key=lambda each: -each.size)[:MOST]
        group = "largest tensors of a step"
        return found + [fact(f"{each.name} ({each.shape})", each.size, "bytes", group=group) for each in largest]

    def batch(self) -> list[dict[str, Any]]:
        """How many rows a batch could have, by what one row keeps for the backward pass."""
        many = rows(self._stage.batch) if self._stage.batch is not None else 0
        free = free_memory(self._stage.torch)
        if not many or not self.kept or not free:
            return []
        return [
            fact("largest batch size that would fit, estimated", int(0.8 * free / (self.kept / many)), group="memory"),
            fact(
                "estimation method",
                "80% of the free memory divided by the memory saved for backward per sample; not tested",
                group="memory",
            ),
        ]

    def advice(self) -> str:
        """How to take less memory, in order: where the step is on a GPU, or takes much of the memory of the machine."""
        model = self._stage.model
        first = next(iter(model.parameters()), None) if model is not None else None
        gpu = first is not None and first.device.type == "cuda"
        used, whole = sum(self.parts.values()), total_memory()
        return ", then ".join(ADVICE) if self.parts and (gpu or (whole and used > MUCH * whole)) else ""


def _parameters(stage: Stage) -> list[tuple[str, Any]]:
    """All parameters, each once: those of the model by their names."""
    found: dict[int, tuple[str, Any]] = {}
    model = stage.model
    for name, each in model.named_parameters() if model is not None else ():
        found[id(each)] = f"`{name}`", each
    for module in stage.watch.modules.alive():
        for name, each in module.named_parameters():
            found.setdefault(id(each), (f"`{name}` of {type(module).__name__}", each))
    return [pair for pair in found.values() if pair[1].layout is stage.torch.strided and not pair[1].is_meta]


def size_of(tensor: Any) -> int:
    """The bytes of the numbers of a tensor."""
    return int(tensor.numel() * tensor.element_size())


def free_memory(torch: Any) -> int:
    """The bytes that are free on the GPU, where there is one at work, or on the machine; 0 where nobody can tell."""
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        return int(torch.cuda.mem_get_info()[0])
    return _from_system("MemAvailable")


def total_memory() -> int:
    """The bytes of the memory of this machine; 0 where nobody can tell."""
    return _from_system("MemTotal")


def _from_system(name: str) -> int:
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            return next(int(row.split()[1]) << 10 for row in file if row.startswith(name + ":"))
    except (OSError, StopIteration, ValueError):
        return 0
