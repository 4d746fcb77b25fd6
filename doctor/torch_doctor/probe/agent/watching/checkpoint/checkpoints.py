"""`torch.save`, `torch.load` and `load_state_dict`, and the writers of logs."""

from __future__ import annotations

import io
import os
import pickle
from typing import TYPE_CHECKING, Any

from ...stand_ins.trackers import Writer
from ..instrument_hooks import InstrumentHooks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..watch import Watch

SCHEDULER = frozenset(("last_epoch", "_step_count"))  # keys of its state
SCALER = frozenset(("scale", "growth_factor"))
LIMITED = "Weights only load failed"
"""What torch says of a file that it reads only without limits (https://docs.pytorch.org/docs/stable/generated/torch.load.html)."""
DEEPEST = 4
DEVICES = "/dev/"  # what is written there, nobody keeps
WIDEST = 64  # items of a dict or list that are looked at


class Watcher:
    """Wraps writing and reading, the outermost call of each."""

    installed_after = ("loading",)  # its wrapper of `load_state_dict` is the inner one

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._recorder = watch.recorder
        self._busy = False
        self._logging = set[int]()

    def install(self) -> None:
        """Puts the wrappers in place."""
        torch = self._watch.torch
        Writer.built.append(lambda writer, folder: self._recorder.safely(self._writes, writer, folder))
        Writer.used.append(lambda writer, method: self._recorder.safely(self._logs, writer, method))
        self._watch.patches.replace(torch, "save", self._wrapping(self._saved))
        self._watch.patches.replace(torch, "load", self._reading)
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

    def _reading(self, original: Any) -> Any:
        recorder = self._recorder

        def load(*arguments: Any, **keywords: Any) -> Any:
            if self._busy or recorder.quiet:
                return original(*arguments, **keywords)
            self._busy = True
            try:
                result = original(*arguments, **keywords)
            except (pickle.UnpicklingError, RuntimeError) as error:
                recorder.safely(self._read, arguments, keywords, str(error) if LIMITED in str(error) else None)
                raise
            finally:
                self._busy = False
            recorder.safely(self._read, arguments, keywords, self._object_in(result, DEEPEST))
            return result

        return load

    # --- files ---

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
        event = recorder.event(
            "Saved",
            here,
            what=what,
            modules=numbers,
            names=names,
            buffer=self._buffer(target),
            file=_path(target),
            states=self._watch.states.of(saved),
            keys=[key for key in saved if isinstance(key, str)][:WIDEST] if isinstance(saved, dict) else [],
            optimizer=self._has_optimizer(saved, DEEPEST),
            scheduler=_has_keys(saved, SCHEDULER, DEEPEST),
            scaler=_has_keys(saved, SCALER, DEEPEST),
        )
        self._watch.tell(InstrumentHooks.on_save, saved, target, here, event)

    def _writes(self, writer: Any, folder: Any) -> None:
        """A writer of logs was made; one that is given no folder takes one of its own."""
        here = self._recorder.here()
        if here.frame is not None:
            name = self._recorder.caller(here.site)
            number = self._recorder.references.number(writer)
            self._recorder.event("WriterBuilt", here, name=name, file=_path(folder), writer=number)

    def _logs(self, writer: Any, method: str) -> None:
        """A writer of logs gets something for the first time."""
        here = self._recorder.here()
        number = self._recorder.references.number(writer)
        if here.frame is not None and number not in self._logging:
            self._logging.add(number)
            self._recorder.event("WriterUsed", here, name=method, writer=number)

    def _has_optimizer(self, value: Any, depth: int) -> bool:
        """Whether an optimizer or its state is in what is saved."""
        if isinstance(value, dict):
            inner = list(value.values())
            if {"state", "param_groups"} <= value.keys():
                return True
        else:
            inner = list(value) if isinstance(value, (list, tuple)) else []
            if isinstance(value, self._watch.torch.optim.Optimizer):
                return True
        return depth > 0 and any(self._has_optimizer(each, depth - 1) for each in inner[:WIDEST])

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

    def _object_in(self, value: Any, depth: int) -> str:
        """The class of something in what was read that is read only without limits; "" where there is none."""
        torch = self._watch.torch
        if depth and isinstance(value, (dict, list, tuple)):
            inner = list(value.values()) if isinstance(value, dict) else list(value)
            return next(filter(None, (self._object_in(each, depth - 1) for each in inner[:WIDEST])), "")
        kinds = torch.nn.Module, torch.optim.Optimizer
        refused = isinstance(value, kinds) or type(value).__module__.partition(".")[0] in {
            "numpy",
            "argparse",
            "__main__",
        }
        return f"{type(value).__module__}.{type(value).__qualname__}" if refused else ""

    def _read(self, arguments: tuple[Any, ...], keywords: dict[str, Any], refused: str | None) -> None:
        here = self._recorder.here()
        if here.frame is not None:
            name = self._recorder.argument(here.site, 0, "f", "load")
            source = arguments[0] if arguments else keywords.get("f")
            self._recorder.event("Loaded", here, module=0, name=name, buffer=self._buffer(source), refused=refused)

    def _buffer(self, file: Any) -> int:
        """The number of a buffer in memory; 0 for a file."""
        return self._recorder.references.number(file) if isinstance(file, io.BytesIO) else 0

    def _loaded(self, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        here = self._recorder.here()
        if here.frame is not None:
            number = self._watch.modules.tell(arguments[0], here)
            name = self._recorder.owner(here.site, "load_state_dict")
            states = self._watch.states.of(arguments[1] if len(arguments) > 1 else keywords.get("state_dict"))
            self._recorder.event("Loaded", here, module=number, name=name, states=states, only=bool(states))


def _has_keys(value: Any, keys: frozenset[str], depth: int) -> bool:
    """Whether a dict with these keys is in what is saved."""
    if isinstance(value, dict):
        inner = list(value.values())
        if keys <= value.keys():
            return True
    else:
        inner = list(value) if isinstance(value, (list, tuple)) else []
    return depth > 0 and any(_has_keys(each, keys, depth - 1) for each in inner[:WIDEST])


def _path(target: Any) -> str:
    """The whole path of a file that is written, as the script knows it; empty where there is none."""
    name = getattr(target, "name", target)
    whole = os.path.abspath(os.fsdecode(name)) if isinstance(name, (str, bytes, os.PathLike)) else ""
    return "" if whole.startswith(DEVICES) else whole
