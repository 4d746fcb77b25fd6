"""`torch.save`, `torch.load` and `load_state_dict`."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .watch import Watch

DEEPEST = 4


class Watcher:
    """Wraps writing and reading, the outermost call of each."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._recorder = watch.recorder
        self._busy = False

    def install(self) -> None:
        """Puts the wrappers in place."""
        torch = self._watch.torch
        self._watch.patches.replace(torch, "save", self._wrapping(self._saved))
        self._watch.patches.replace(torch, "load", self._wrapping(self._read))
        self._watch.patches.replace(torch.nn.Module, "load_state_dict", self._wrapping(self._loaded))

    def _wrapping(self, told: Any) -> Any:
        recorder = self._recorder

        def wrap(original: Any) -> Any:
            def run(*arguments: Any, **keywords: Any) -> Any:
                if self._busy or recorder.quiet:
                    return original(*arguments, **keywords)
                self._busy = True
                try:
                    result = original(*arguments, **keywords)
                finally:
                    self._busy = False
                recorder.safely(told, arguments, keywords)
                return result

            return run

        return wrap

    def _saved(self, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        recorder = self._recorder
        here = recorder.here()
        if here.frame is None:
            return
        saved = arguments[0] if arguments else keywords.get("obj")
        found = list(self._modules_in(saved, "", DEEPEST))
        numbers = [self._watch.modules.tell(module, here) for _, module in found]
        what = recorder.argument(here.site, 0, "obj", "save")
        target = arguments[1] if len(arguments) > 1 else keywords.get("f")
        names = [name for name, _ in found]
        event = recorder.event("Saved", here, what=what, modules=numbers, names=names, buffer=self._buffer(target))
        self._watch.tell("on_save", saved, target, here, event)

    def _modules_in(self, value: Any, name: str, depth: int) -> Iterator[tuple[str, Any]]:
        """The module objects in what is saved, each with the key that it lies under."""
        if isinstance(value, self._watch.torch.nn.Module):
            yield name, value
        elif depth and isinstance(value, dict):
            for key, each in list(value.items()):
                yield from self._modules_in(each, str(key), depth - 1)
        elif depth and isinstance(value, (list, tuple)):
            for each in value:
                yield from self._modules_in(each, name, depth - 1)

    def _read(self, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        here = self._recorder.here()
        if here.frame is not None:
            name = self._recorder.argument(here.site, 0, "f", "load")
            source = arguments[0] if arguments else keywords.get("f")
            self._recorder.event("Loaded", here, module=0, name=name, buffer=self._buffer(source))

    def _buffer(self, file: Any) -> int:
        """The number of a buffer in memory; 0 for a file."""
        return self._recorder.references.number(file) if isinstance(file, io.BytesIO) else 0

    def _loaded(self, arguments: tuple[Any, ...], _: dict[str, Any]) -> None:
        here = self._recorder.here()
        if here.frame is not None:
            number = self._watch.modules.tell(arguments[0], here)
            name = self._recorder.owner(here.site, "load_state_dict")
            self._recorder.event("Loaded", here, module=number, name=name)
