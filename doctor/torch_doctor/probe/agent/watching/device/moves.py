"""Moves of whole modules to devices and dtypes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...identities import IdentitySet

if TYPE_CHECKING:
    from ..watch import Watch

DTYPES = {"half": "float16", "bfloat16": "bfloat16", "float": "float32", "double": "float64"}
DEVICES = ("cuda", "cpu", "xpu")
METHODS = ("to", *DTYPES, *DEVICES)


class Watcher:
    """Wraps these methods of `nn.Module`; a move within a move is part of it."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._torch = watch.torch
        self._recorder = watch.recorder
        self._deep = False
        self.shells: IdentitySet = IdentitySet()
        """What wraps modules for several processes."""

    def install(self) -> None:
        """Puts the wrappers in place."""
        for wrapper in (self._torch.nn.DataParallel, self._torch.nn.parallel.DistributedDataParallel):
            self._watch.patches.replace(wrapper, "__init__", self._wrapping(wrapper))
        for name in METHODS:
            self._watch.patches.replace(self._torch.nn.Module, name, self._moving(name))

    def _wrapping(self, wrapper: type) -> Any:
        recorder = self._recorder

        def wrap(original: Any) -> Any:
            def built(shell: Any, module: Any, *arguments: Any, **keywords: Any) -> None:
                original(shell, module, *arguments, **keywords)
                if not recorder.quiet and not recorder.inside:
                    self.shells.add(shell)
                    recorder.safely(self._wrapped, wrapper, module)

            return built

        return wrap

    def _wrapped(self, wrapper: type, module: Any) -> None:
        recorder = self._recorder
        here = recorder.here()
        if here.frame is not None:
            number = self._watch.modules.tell(module, here)
            name = recorder.argument(here.site, 0, "module")
            known = f"torch.nn.{'' if wrapper is self._torch.nn.DataParallel else 'parallel.'}{wrapper.__name__}"
            recorder.event("Wrapped", here, module=number, name=name, wrapper=known)

    def _moving(self, name: str) -> Any:
        recorder = self._recorder

        def wrap(original: Any) -> Any:
            def move(module: Any, *arguments: Any, **keywords: Any) -> Any:
                if self._deep or recorder.quiet or recorder.inside or recorder.rests():
                    return original(module, *arguments, **keywords)
                self._deep = True
                try:
                    recorder.safely(self._told, module, name, arguments, keywords)
                    return original(module, *arguments, **keywords)
                finally:
                    self._deep = False

            return move

        return wrap

    def _told(self, module: Any, name: str, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        recorder = self._recorder
        here = recorder.here()
        if here.frame is None:
            return
        device, dtype = name if name in DEVICES else "", DTYPES.get(name, "")
        if name == "to" and isinstance(next(iter(arguments), keywords.get("device")), int):  # the number of a GPU
            device = "cuda"
        elif name == "to":
            try:
                place, kind, *_ = self._torch._C._nn._parse_to(*arguments, **keywords)
            except TypeError:  # of a placeholder, or of the script's own
                return
            device = "" if place is None else str(place.type)
            dtype = "" if kind is None else str(kind).removeprefix("torch.")
        shells = (self._torch.nn.DataParallel, self._torch.nn.parallel.DistributedDataParallel)
        number = self._watch.modules.tell(module.module if isinstance(module, shells) else module, here)
        owner = recorder.owner(here.site, *METHODS)
        recorder.event("Moved", here, module=number, name=owner, device=device, dtype=dtype)
