"""Gradient scalers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..instrument_hooks import InstrumentHooks
from ..marks import on_node

if TYPE_CHECKING:
    from ..watch import Watch


class Watcher:
    """Wraps the methods of `torch.amp.GradScaler`."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._recorder = watch.recorder
        self.built = False

    def install(self) -> None:
        """Puts the wrappers in place."""
        scaler = self._watch.torch.amp.grad_scaler.GradScaler
        replace = self._watch.patches.replace
        replace(scaler, "__init__", self._telling(self._built))
        replace(scaler, "unscale_", self._telling(self._unscaled))
        replace(scaler, "update", self._telling(self._updated))
        replace(scaler, "step", self._step)
        replace(scaler, "scale", self._scale)

    def _telling(self, told: Any) -> Any:
        recorder = self._recorder

        def wrap(original: Any) -> Any:
            def call(scaler: Any, *arguments: Any, **keywords: Any) -> Any:
                result = original(scaler, *arguments, **keywords)
                if not recorder.quiet and not recorder.rests():
                    recorder.safely(told, scaler, *arguments)
                return result

            return call

        return wrap

    def _built(self, scaler: Any, *_: Any) -> None:
        self.built = True
        here = self._recorder.here()
        if here.frame is not None:
            number = self._recorder.references.number(scaler)
            self._recorder.event("ScalerBuilt", here, scaler=number, enabled=bool(scaler.is_enabled()))

    def _scale(self, original: Any) -> Any:
        def scale(scaler: Any, outputs: Any) -> Any:
            result = original(scaler, outputs)
            if result is not outputs and not self._recorder.quiet:
                for tensor in self._watch.marks.tensors(result):
                    if tensor.grad_fn is not None:
                        on_node(tensor.grad_fn)["scaled"] = True
            return result

        return scale

    def _unscaled(self, scaler: Any, optimizer: Any = None, *_: Any) -> None:
        if self._watch.optimizers.scaler is scaler:
            return  # its `step` does it itself
        here = self._recorder.here()
        numbers = self._recorder.references.number
        if here.frame is not None:
            self._recorder.event("Unscaled", here, scaler=numbers(scaler), optimizer=numbers(optimizer))

    def _updated(self, scaler: Any, *_: Any) -> None:
        here = self._recorder.here()
        if here.frame is not None:
            self._recorder.event("ScalerUpdated", here, scaler=self._recorder.references.number(scaler))

    def _step(self, original: Any) -> Any:
        recorder, optimizers = self._recorder, self._watch

        def step(scaler: Any, optimizer: Any, *arguments: Any, **keywords: Any) -> Any:
            if recorder.quiet or recorder.rests():
                return original(scaler, optimizer, *arguments, **keywords)
            watcher = optimizers.optimizers
            before = recorder.scopes.events
            watcher.scaled, watcher.scaler = optimizer, scaler
            try:
                result = original(scaler, optimizer, *arguments, **keywords)
            finally:
                watcher.scaled = watcher.scaler = None
            if recorder.scopes.events == before:
                recorder.safely(self._skipped, scaler, optimizer)
            return result

        return step

    def _skipped(self, scaler: Any, optimizer: Any) -> None:
        """The scaler found gradients that are not finite: the step changed nothing."""
        recorder = self._recorder
        here = recorder.here()
        if here.frame is not None:
            name = recorder.argument(here.site, 0, "optimizer", "step")
            number = recorder.references.number(optimizer)
            fields: dict[str, Any] = {"scaled": True, "scaler": recorder.references.number(scaler)}
            event = recorder.event("Stepped", here, optimizer=number, name=name, modules=[], whole=True, **fields)
            recorder.happened(here, trained=True, step=True)
            self._watch.tell(InstrumentHooks.on_step, optimizer, here, event)
