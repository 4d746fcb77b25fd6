"""Compilers that read the source of the functions a model calls, or follow a call of it: to them torch is as it was.

Transformations that give functions values which nobody can read (`torch.func.vmap`) are left alone in the same way.
"""

from __future__ import annotations

import functools
import importlib
import inspect
from types import FunctionType
from typing import TYPE_CHECKING, Any

from ... import hooks
from ...imports import after

if TYPE_CHECKING:
    from ..watch import Watch

FRAMES_UP = 2  # the place of `_frames_up` among the arguments of `torch.jit.script` in torch 2.13

OWN_FRAMES = 2  # between the caller and torch's function


class Watcher:
    """Puts torch's own functions back for as long as `torch.jit.script` looks at them, and watches nothing that is traced."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch

    def install(self) -> None:
        """Wraps the compiler."""
        torch = self._watch.torch
        self._watch.patches.replace(torch.jit, "script", self._reading)
        self._watch.patches.replace(torch.jit._recursive, "create_script_module", self._compiling)  # of a ScriptModule
        for name in ("trace", "trace_module", "_get_trace_graph"):  # the last is that of older exports to ONNX
            self._watch.patches.replace(torch.jit, name, self._tracing)
        for name in ("export", "export_for_training", "draft_export"):
            self._watch.patches.replace(torch.export, name, self._exporting)
        after("torch._functorch.vmap", lambda module: self._watch.patches.replace(module, "_flat_vmap", self._tracing))
        after("torch._dynamo", self._with_compiler)

    def _reading(self, original: Any) -> Any:
        def script(*arguments: Any, **keywords: Any) -> Any:
            if len(arguments) <= FRAMES_UP:  # the names of what is compiled are looked up in the caller's frame
                keywords["_frames_up"] = keywords.get("_frames_up", 0) + OWN_FRAMES
            return self._compiling(original)(*arguments, **keywords)

        return script

    def _compiling(self, original: Any) -> Any:
        def compile_(*arguments: Any, **keywords: Any) -> Any:
            with self._watch.patches.suspended():
                self._watch.recorder.safely(self._introduce)
                return original(*arguments, **keywords)

        return compile_

    def _with_compiler(self, dynamo: Any) -> None:
        """The parts of the compiler that scripts call by themselves."""
        for name in ("explain", "export"):
            self._watch.patches.replace(dynamo, name, self._exporting)

    def _exporting(self, original: Any) -> Any:
        """Reads the functions, and follows a call; `explain(model)` and its like give a function that does so."""

        def export(*arguments: Any, **keywords: Any) -> Any:
            with self._watch.patches.suspended(), hooks.silent(), self._watch.unwatched():
                result = original(*arguments, **keywords)
            return export_later(result) if isinstance(result, FunctionType) else result

        def export_later(function: Any) -> Any:
            return functools.wraps(function)(self._exporting(function))

        return export

    def _tracing(self, original: Any) -> Any:
        """Whatever is computed in a traced call becomes part of what is exported: nothing is measured there."""

        def trace(*arguments: Any, **keywords: Any) -> Any:
            with self._watch.unwatched():
                return original(*arguments, **keywords)

        return trace

    def _introduce(self) -> None:
        """Tells the compiler which operator each function is that stands in for one of torch's."""
        torch = self._watch.torch
        known: dict[int, str] = importlib.import_module("torch.jit._builtins")._get_builtin_table()
        for space in (torch, torch.fft, torch.nn.functional):
            for stand_in in list(vars(space).values()):
                if "__wrapped__" in getattr(stand_in, "__dict__", ()) and id(stand_in) not in known:
                    operator = known.get(id(inspect.unwrap(stand_in)))
                    if operator is not None:
                        known[id(stand_in)] = operator
