"""`no_grad`, `inference_mode`, `enable_grad` and `set_grad_enabled`, where the user's code enters and leaves them."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..watch import Watch

DECORATORS = "_contextlib.py"


class Watcher:
    """Wraps entering and leaving; torch's own use of them is not recorded."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._recorder = watch.recorder

    def install(self) -> None:
        """Puts the wrappers in place."""
        grad_mode = self._watch.torch.autograd.grad_mode
        for name in ("no_grad", "enable_grad", "inference_mode"):
            context = getattr(grad_mode, name)
            self._watch.patches.replace(context, "__enter__", self._wrapping(f"torch.{name}", entered=True))
            self._watch.patches.replace(context, "__exit__", self._wrapping(f"torch.{name}", entered=False))
        switch = grad_mode.set_grad_enabled
        self._watch.patches.replace(switch, "__init__", self._wrapping("torch.set_grad_enabled", entered=True))
        self._watch.patches.replace(switch, "__exit__", self._wrapping("torch.set_grad_enabled", entered=False))

    def _wrapping(self, context: str, *, entered: bool) -> Any:
        recorder, is_users, torch = self._recorder, self._recorder.sites.is_users, self._watch.torch

        def wrap(original: Any) -> Any:
            def switch(*arguments: Any, **keywords: Any) -> Any:
                result = original(*arguments, **keywords)
                caller = sys._getframe(1)
                path = caller.f_code.co_filename
                if path.endswith(DECORATORS) and caller.f_back is not None:
                    path = caller.f_back.f_code.co_filename
                if not recorder.quiet and not recorder.inside and not recorder.rests() and is_users(path):
                    recorder.safely(told)
                return result

            return switch

        def told() -> None:
            here = recorder.here()
            if here.frame is None:
                return
            enabled = bool(torch.is_grad_enabled())
            if entered:
                recorder.event("GradModeEntered", here, context=context, enabled=enabled)
            else:
                recorder.event("GradModeExited", here, context=context, enabled=enabled)

        return wrap
