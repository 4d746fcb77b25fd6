"""Calls of a module's `forward` by that name, past its `__call__`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from ... import claims
from ..naming import class_name
from .modules import first_argument

if TYPE_CHECKING:
    from types import CodeType, FrameType

    from ..watch import Watch

HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")


class Watcher:
    """Is shown every `thing.forward` that the user's code calls; tells of each place and module once, and counts."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._torch = watch.torch
        self._recorder = watch.recorder
        self._seen: dict[tuple[int, int, int, str], int | None] = {}
        self._calls: dict[int, int] = {}
        self._others: dict[int, int] = {}
        self._hooks: dict[int, int] = {}

    def install(self) -> None:
        """Has the counts written when the script ends."""
        self._recorder.at_end.append(self._count)

    def note(self, key: int, function: Any) -> None:
        """The user calls `function` as `thing.forward`, at the place of this key."""
        if self._recorder.quiet:
            return
        module = getattr(function, "__self__", None)
        if hasattr(type(module), "takes_anything"):
            return  # it stands in for something that need not be a module
        number = self._recorder.references.number(module) if isinstance(module, self._torch.nn.Module) else 0
        hooks = sum(len(getattr(module, name, ())) for name in HOOKS) if number else 0
        skips = "the module's hooks" if hooks else ""
        known = (key, number, self._within(module), skips)
        if known not in self._seen:
            self._seen[known] = self._tell(key, module, known[2], skips) if number and self._is_called(module) else None
        event = self._seen[known]
        if event is None:
            self._others[key] = self._others.get(key, 0) + 1
        else:
            self._calls[event] = self._calls.get(event, 0) + 1
            self._hooks[event] = hooks

    def _is_called(self, module: Any) -> bool:
        """Whether calling the module is the way to its `forward` for this code: it is not the module's own."""
        base = self._torch.nn.Module
        if (
            type(module).__call__ is not base.__call__
            or isinstance(module, self._torch.jit.ScriptModule)
            or "forward" in vars(module)
        ):
            return False
        frame: FrameType | None = sys._getframe(1)
        while frame is not None:
            if _is_method_of(type(module), frame.f_code) and first_argument(frame) is module:
                return False
            frame = frame.f_back
        return True

    def _within(self, module: Any) -> int:
        """The number of the whole module that is running, 0 where none is, or where the caller built `module` for itself."""
        recorder = self._recorder
        if not recorder.inside:
            return 0
        frame: FrameType | None = sys._getframe(2)
        while frame is not None and not recorder.sites.is_users(frame.f_code.co_filename):
            frame = frame.f_back
        if frame is not None and self._watch.modules.made_by(frame.f_code, module):
            return 0
        return recorder.references.number(self._watch.forwards.running)

    def _tell(self, key: int, module: Any, within: int, skips: str) -> int:
        here = self._recorder.here()
        return self._recorder.event(
            "ForwardByName",
            here,
            site=self._recorder.index.site(key),
            module=self._recorder.references.number(module),
            name=self._recorder.index.nodes[key].text,
            class_name=class_name(type(module), self._recorder),
            within=within or self._building(),
            skips=skips,
        )

    def _building(self) -> int:
        """The number of a module whose `__init__` is running, 0 where none is."""
        frame: FrameType | None = sys._getframe(1)
        while frame is not None:
            code = frame.f_code
            if code.co_name == "__init__" and code.co_argcount:
                made = first_argument(frame)
                if isinstance(made, self._torch.nn.Module) and _is_method_of(type(made), code):
                    return self._recorder.references.number(made)
            frame = frame.f_back
        return 0

    def _count(self, _: BaseException | None) -> None:
        for event, times in self._calls.items():
            self._recorder.measured(claims.FORWARDS_BY_NAME, times, "calls", about=[event])
            self._recorder.measured(claims.HOOKS_SKIPPED, self._hooks[event], "hooks", about=[event])
        for key, times in self._others.items():
            site = self._recorder.index.site(key)
            self._recorder.measured(claims.FORWARDS_OTHERWISE, times, "calls", site=site)


def _is_method_of(cls: type, code: CodeType) -> bool:
    """Whether code is that of a method of the class, or of one of its bases."""
    for each in cls.__mro__:
        function = vars(each).get(code.co_name)
        while function is not None and getattr(function, "__code__", None) is not code:
            function = getattr(function, "__wrapped__", None) or getattr(function, "__func__", None)
        if function is not None:
            return code.co_argcount > 0
    return False
