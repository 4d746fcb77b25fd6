"""Modules whose `nn.Module.__init__` had not run when the script failed on them."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from ..definitions import broken_init, class_site, init_site, misspelt_method
from ..naming import class_name

if TYPE_CHECKING:
    from types import FrameType

    from ..watch import Watch


REGISTERING = frozenset({"__setattr__", "register_buffer", "register_parameter", "register_module", "add_module"})
"""Methods of `nn.Module` that refuse what they are given before its `__init__` has run."""


class Watcher:
    """Looks, when the script ends with an exception, for the module that it is about."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._recorder = watch.recorder

    def install(self) -> None:
        """Asks to be called at the end."""
        self._recorder.at_end.append(self._at_end)

    def _at_end(self, error: BaseException | None) -> None:
        frames: list[FrameType] = []
        trace = error.__traceback__ if error is not None else None
        places: dict[int, int] = {}
        while trace is not None:
            frames.append(trace.tb_frame)
            places[id(trace.tb_frame)] = trace.tb_lineno
            trace = trace.tb_next
        module = next((found for frame in reversed(frames) if (found := self._unfinished(frame)) is not None), None)
        if module is not None:
            self._tell(module, frames, places)

    def _unfinished(self, frame: FrameType) -> Any:
        """What the function of a frame is a method of, if that is a module without registries."""
        code = frame.f_code
        first = frame.f_locals.get(code.co_varnames[0]) if code.co_argcount else None
        return first if isinstance(first, self._watch.torch.nn.Module) and "_modules" not in vars(first) else None

    def _tell(self, module: Any, frames: list[FrameType], places: dict[int, int]) -> None:
        recorder, sites = self._recorder, self._recorder.sites
        here = recorder.here()
        users = [frame for frame in frames if sites.is_users(frame.f_code.co_filename)]
        of_it = [frame for frame in users if self._unfinished(frame) is module]
        outside = [
            frame
            for frame in users
            if frame not in of_it and (not of_it or frames.index(frame) < frames.index(of_it[0]))
        ]
        constructors = [frame for frame in of_it if frame.f_code.co_name == "__init__"]
        initialiser = init_site(type(module), recorder)
        early, called_later = None, False
        if constructors:
            code = constructors[-1].f_code
            file = recorder.index.file(code.co_filename)
            span = file.functions.get((code.co_firstlineno, "__init__")) if file is not None else None
            initialiser = sites.number(span) if span is not None else initialiser
            row = places[id(of_it[-1])]
            if frames[-1].f_code.co_name in REGISTERING:
                early = sites.whole_line(of_it[-1].f_code.co_filename, row)
            called_later = file is not None and _calls_base(
                file.text, code.co_firstlineno, places[id(constructors[-1])]
            )
        initialiser, owner = (initialiser, "") if called_later else broken_init(type(module), recorder)
        misspelt, meant, place = misspelt_method(type(module), recorder)
        site = here.site
        if outside:
            site = sites.whole_line(outside[-1].f_code.co_filename, places[id(outside[-1])])
        recorder.event(
            "ModuleBuilt",
            here,
            site=site,
            module=recorder.references.number(module),
            class_name=class_name(type(module), recorder),
            class_site=class_site(type(module), recorder),
            init_site=place if misspelt else initialiser,
            init_class="" if misspelt else owner,
            misspelt=misspelt,
            meant=meant or "__init__",
            base_initialised=called_later,
            early_member=early,
        )


def _calls_base(text: str, first: int, row: int) -> bool:
    """Whether the constructor that begins in row `first` calls the one of its base in a row after `row`."""
    for node in ast.walk(ast.parse(text)):
        if (
            isinstance(node, ast.FunctionDef)
            and min([node.lineno, *(each.lineno for each in node.decorator_list)]) == first
        ):
            return any(
                isinstance(call, ast.Call)
                and isinstance(call.func, ast.Attribute)
                and call.func.attr == "__init__"
                and call.lineno > row
                for call in ast.walk(node)
            )
    return False
