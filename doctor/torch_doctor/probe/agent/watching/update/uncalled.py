"""Methods and contexts that are named and not called, and calls whose result is dropped."""

from __future__ import annotations

import weakref
from types import MethodType
from typing import TYPE_CHECKING, Any

from ... import claims, hooks
from ..instrument_hooks import InstrumentHooks

if TYPE_CHECKING:
    from ..watch import Watch

CONTEXTS = frozenset({"no_grad", "inference_mode", "enable_grad", "set_grad_enabled", "autocast"})
ENOUGH = 8
"""Results at one place that are compared with what they were computed from."""


class Lost:
    """What a statement computed from a tensor and dropped: how often that was compared, and differed from the tensor."""

    def __init__(self, name: str, target: str = "") -> None:
        self.name = name
        self.target = target
        self.calls = 0
        self.differed = 0
        self.difference = ""


def _owner(value: Any) -> Any:
    """Whose method it is. A scheduler replaces `optimizer.step` by a function that only refers to the optimizer weakly."""
    cells = value.__closure__ or () if hasattr(value, "_wrapped_by_lr_sched") else ()
    references = (cell.cell_contents for cell in cells if isinstance(cell.cell_contents, weakref.ref))
    return getattr(value, "__self__", None) or next((reference() for reference in references), None)


class Watcher:
    """Is given the value of every expression that stands alone as `a.b`, as `with a.b:`, or as `a.b(c)`, and then `a` and `c`."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._torch = watch.torch
        self._recorder = watch.recorder
        self._others: dict[int, int] = {}
        self._moved_others: dict[int, int] = {}
        self._operands: dict[int, tuple[Any, int]] = {}  # what the calls under way are given, and in which version
        self._lost: dict[int, Lost] = {}

    def install(self) -> None:
        """Puts what instrumented code calls in place."""
        self._recorder.at_end.append(self._count)
        hooks.put("named", self._named)
        hooks.put("dropped", self._dropped)
        hooks.put("unread", self._unread)

    def _named(self, key: int, value: Any) -> Any:
        if callable(value):
            self._recorder.safely(self._tell, key, value)
        else:
            self._others[key] = self._others.get(key, 0) + 1
        return value

    def _count(self, _: BaseException | None) -> None:
        """Tells of what was named and is nothing that could be called."""
        for key, times in self._others.items():
            site = self._recorder.index.site(key)
            self._recorder.measured(claims.NAMED_NO_METHOD, times, "times", site=site)
        for key, times in self._moved_others.items():
            self._recorder.measured(claims.MOVED_NO_TENSOR, times, "times", site=self._recorder.index.site(key))
        for key, lost in self._lost.items():
            if not lost.calls:
                continue
            self._recorder.event(
                "ResultLost",
                self._recorder.here(),
                site=self._recorder.index.site(key),
                name=lost.name,
                call=self._recorder.index.nodes[key].value,
                target=lost.target,
                calls=lost.calls,
                differed=lost.differed,
                difference=lost.difference,
            )

    def _tell(self, key: int, value: Any) -> None:
        node = self._recorder.index.nodes[key]
        owner = _owner(value)
        of = self._kind(value, owner, node.name)
        if not of:
            self._others[key] = self._others.get(key, 0) + 1
            return
        here = self._recorder.here()
        target = 0
        if of not in {"torch", "tensor"}:
            target = self._recorder.references.number(owner)
            if of == "module":
                self._watch.modules.tell(owner, here)
        self._recorder.event(
            "NotCalled",
            here,
            site=self._recorder.index.site(key),
            name=node.text,
            method=node.name,
            of=of,
            target=target,
        )

    def _kind(self, value: Any, owner: Any, name: str) -> str:
        torch = self._torch
        if isinstance(value, type):
            return "torch" if name in CONTEXTS and value.__module__.startswith("torch.") else ""
        if owner is None or not (isinstance(value, MethodType) or callable(value)):
            return ""
        for kinds, word in (
            (torch.optim.Optimizer, "optimizer"),
            (torch.Tensor, "tensor"),
            (torch.nn.Module, "module"),
            (torch.optim.lr_scheduler.LRScheduler, "scheduler"),
            (torch.amp.grad_scaler.GradScaler, "scaler"),
        ):
            if isinstance(owner, kinds):
                return word
        return ""

    def _dropped(self, key: int, value: Any) -> Any:
        node = self._recorder.index.nodes[key]
        if node.kind == "operand":
            if isinstance(value, self._torch.Tensor) and not self._recorder.quiet and self._is_of_torch(node.name):
                self._operands[key] = value, _version(value)
            return value
        given = [(each, *self._operands.pop(each)) for each in node.arguments if each in self._operands]
        if isinstance(value, self._torch.Tensor):
            if given and not self._recorder.quiet:
                self._recorder.safely(self._compare, key, *given[0], value)
            if node.how == "moved":
                self._recorder.safely(self._tell_dropped, key, value)
                self._watch.tell(InstrumentHooks.on_dropped, key, value)
        elif node.how == "moved":
            self._moved_others[key] = self._moved_others.get(key, 0) + 1
        return value

    def _is_of_torch(self, name: str) -> bool:
        """Whether torch has a function or a method of this name."""
        torch = self._torch
        return any(hasattr(owner, name) for owner in (torch.Tensor, torch, torch.nn.functional))

    def _compare(self, key: int, part: int, operand: Any, version: int, result: Any) -> None:
        """Counts a result, and whether it differs from the tensor that it was computed from, where that stayed as it was."""
        self._differs(self._lost.setdefault(key, Lost(self._recorder.index.nodes[part].text)), operand, version, result)

    def _differs(self, lost: Lost, operand: Any, version: int, result: Any) -> None:
        captured = result.is_cuda and self._torch.cuda.is_current_stream_capturing()
        if _version(operand) != version or lost.calls >= ENOUGH or captured or self._torch.jit.is_tracing():
            return
        with self._watch.unwatched(), self._torch.no_grad():
            difference = "" if result is operand else _difference(operand, result)
        lost.calls += 1
        lost.differed += bool(difference)
        lost.difference = lost.difference or difference

    def _unread(self, key: int, value: Any, *operands: Any) -> None:
        """A variable that nothing reads got a value that was computed from these."""
        if not self._recorder.quiet and hasattr(type(value), "shape"):  # of a value's own, anything may happen
            self._recorder.safely(self._compare_copy, key, value, operands)

    def _compare_copy(self, key: int, value: Any, operands: tuple[Any, ...]) -> None:
        node, result = self._recorder.index.nodes[key], _tensor(self._torch, value)
        for name, operand in zip(node.argument_names, operands, strict=True):
            before = _tensor(self._torch, operand)
            if before is not None and result is not None and before.shape == result.shape:
                self._differs(self._lost.setdefault(key, Lost(name, node.text)), before, _version(before), result)
                return

    def _tell_dropped(self, key: int, value: Any) -> None:
        here = self._recorder.here()
        node = self._recorder.index.nodes[key]
        site = self._recorder.index.site(key)
        device = str(value.device) if value.device.type != "cpu" else ""
        self._recorder.event("Moved", here, site=site, module=0, name=node.text, device=device, used=False)


def _is_array(value: Any) -> bool:
    """Whether something has numbers in dimensions, as tensors, arrays and tables do."""
    return bool(getattr(value, "shape", None)) and hasattr(value, "dtype" if not hasattr(value, "dtypes") else "values")


def _tensor(torch: Any, value: Any) -> Any:
    """The numbers of a tensor, an array or a table as a tensor; None where there are none."""
    if isinstance(value, torch.Tensor):
        return value.detach()
    if not _is_array(value):
        return None
    try:
        return torch.as_tensor(getattr(value, "values", value))
    except (TypeError, ValueError, RuntimeError):
        return None  # an array of texts or objects


def _version(tensor: Any) -> int:
    """How often a tensor was changed in place, as far as torch counts it."""
    return 0 if tensor.is_inference() else int(tensor._version)


def _difference(before: Any, after: Any) -> str:
    """In what one tensor differs from another, in words; "" where they are the same."""
    if before.shape != after.shape:
        return f"shape {tuple(after.shape)} instead of {tuple(before.shape)}"
    if before.dtype != after.dtype:
        return f"dtype {str(after.dtype).removeprefix('torch.')} instead of {str(before.dtype).removeprefix('torch.')}"
    if before.requires_grad and not after.requires_grad:
        return "no graph"
    others = int(((before != after) & ~((before != before) & (after != after))).sum())  # noqa: PLR0124 - NaN is not itself
    if others:
        return f"{others:,} of {before.numel():,} values"
    return "" if before.stride() == after.stride() else f"strides {after.stride()} instead of {before.stride()}"
