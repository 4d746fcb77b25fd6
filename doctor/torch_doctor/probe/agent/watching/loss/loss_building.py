"""Constructions of torch's losses, and the tensors that go where a constructor takes settings."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from ... import claims
from ..naming import nearest

if TYPE_CHECKING:
    from ..watch import Watch

WEIGHTS = frozenset({"weight", "pos_weight"})


class Watcher:
    """Wraps the constructors of the losses of `torch.nn`."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._torch = watch.torch
        self._recorder = watch.recorder
        self._building: Any = None

    def install(self) -> None:
        """Puts the wrappers in place."""
        losses = self._torch.nn.modules.loss
        for cls in list(vars(losses).values()):
            if isinstance(cls, type) and issubclass(cls, losses._Loss) and "__init__" in vars(cls):
                self._watch.patches.replace(cls, "__init__", self._wrapping(cls))

    def _wrapping(self, cls: Any) -> Any:
        recorder, tell = self._recorder, self._tell

        def wrap(original: Any) -> Any:
            def __init__(loss: Any, *arguments: Any, **keywords: Any) -> None:  # noqa: N807
                if self._building is not None or recorder.quiet or recorder.rests():
                    original(loss, *arguments, **keywords)
                    return
                self._building = loss
                try:
                    recorder.safely(tell, cls, loss, arguments, keywords)
                    original(loss, *arguments, **keywords)
                finally:
                    self._building = None

            return __init__

        return wrap

    def _tell(self, cls: Any, loss: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        recorder, facts = self._recorder, self._watch.facts
        built = nearest(type(loss), "torch.nn.")
        here = recorder.here()
        if here.frame is None or built is None:
            return
        names = [*inspect.signature(cls).parameters, *[""] * len(arguments)]
        named = [*zip(names, arguments, strict=False), *keywords.items()]
        given = [(name, value) for name, value in named if name not in WEIGHTS and self._is_batch(value)]
        event = recorder.event(
            "LossBuilt",
            here,
            loss=f"torch.nn.{built.__name__}",
            name=recorder.caller(here.site),
            given=[facts.of(value) for _, value in given],
        )
        if given:
            tensors = sum(isinstance(value, self._torch.Tensor) for _, value in named)
            recorder.measured(claims.TENSOR_SETTINGS, tensors, "tensors", site=here.site, about=[event])

    def _is_batch(self, value: Any) -> bool:
        """Whether a setting is a tensor; a single number without a history may be a margin."""
        return isinstance(value, self._torch.Tensor) and (value.dim() > 0 or value.grad_fn is not None)
