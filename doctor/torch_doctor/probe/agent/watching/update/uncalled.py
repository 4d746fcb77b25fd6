"""Methods and contexts that are named and not called, and moves whose result is dropped."""

from __future__ import annotations

import weakref
from types import MethodType
from typing import TYPE_CHECKING, Any

from ... import claims, hooks
from ..instrument_hooks import InstrumentHooks

if TYPE_CHECKING:
    from ..watch import Watch

CONTEXTS = frozenset({"no_grad", "inference_mode", "enable_grad", "set_grad_enabled", "autocast"})


def _owner(value: Any) -> Any:
    """Whose method it is. A scheduler replaces `optimizer.step` by a function that only refers to the optimizer weakly."""
    cells = value.__closure__ or () if hasattr(value, "_wrapped_by_lr_sched") else ()
    references = (cell.cell_contents for cell in cells if isinstance(cell.cell_contents, weakref.ref))
    return getattr(value, "__self__", None) or next((reference() for reference in references), None)


class Watcher:
    """Is given the value of every expression that stands alone as `a.b`, or as `with a.b:`."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._torch = watch.torch
        self._recorder = watch.recorder
        self._others: dict[int, int] = {}
        self._moved_others: dict[int, int] = {}

    def install(self) -> None:
        """Puts what instrumented code calls in place."""
        self._recorder.at_end.append(self._count)
        hooks.put("named", self._named)
        hooks.put("dropped", self._dropped)

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
        if isinstance(value, self._torch.Tensor):
            self._recorder.safely(self._tell_dropped, key, value)
            self._watch.tell(InstrumentHooks.on_dropped, key, value)
        else:
            self._moved_others[key] = self._moved_others.get(key, 0) + 1
        return value

    def _tell_dropped(self, key: int, value: Any) -> None:
        here = self._recorder.here()
        node = self._recorder.index.nodes[key]
        site = self._recorder.index.site(key)
        device = str(value.device) if value.device.type != "cpu" else ""
        self._recorder.event("Moved", here, site=site, module=0, name=node.text, device=device, used=False)
