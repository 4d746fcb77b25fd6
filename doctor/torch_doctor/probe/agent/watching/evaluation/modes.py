"""`train()` and `eval()` of modules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..watch import Watch


class Watcher:
    """Wraps `nn.Module.train` and `eval`; what they do to the parts is no event of its own."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._recorder = watch.recorder
        self._deep = False

    def install(self) -> None:
        """Puts the wrappers in place."""
        module = self._watch.torch.nn.Module
        self._watch.patches.replace(module, "train", self._switch)
        self._watch.patches.replace(module, "eval", self._switch)

    def _switch(self, original: Any) -> Any:
        recorder, told = self._recorder, self._told

        def switch(module: Any, *arguments: Any, **keywords: Any) -> Any:
            if self._deep or recorder.quiet or recorder.inside:
                return original(module, *arguments, **keywords)
            was = module.training
            self._deep = True
            try:
                return original(module, *arguments, **keywords)
            finally:
                self._deep = False
                if module.training is not was or not recorder.rests():  # a change ends the rest
                    recorder.safely(told, module)

        return switch

    def _told(self, module: Any) -> None:
        recorder, modules = self._recorder, self._watch.modules
        here = recorder.here()
        if here.frame is None:
            return
        number = modules.tell(module, here)
        name = recorder.owner(here.site, "train", "eval")
        kind = self._watch.torch.nn.modules.batchnorm._BatchNorm
        norms = sorted(recorder.references.number(part) for part in module.modules() if isinstance(part, kind))
        fields: dict[str, Any] = {
            "training": bool(module.training),
            "whole": not modules.is_part(module),
            "norms": norms,
        }
        recorder.event("ModeSet", here, module=number, name=name, **fields)
