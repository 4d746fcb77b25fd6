"""`train` and `eval` methods of the classes of modules that the script defines itself."""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING, Any

from ..naming import is_project

if TYPE_CHECKING:
    from types import CodeType

    from ...scopes import Here
    from ..watch import Watch

TRAINS = frozenset({"backward", "manual_backward", "zero_grad", "step"})
SWITCHES = frozenset({"train", "eval", "training"})
FLAG = re.compile(r"(^|_)(mode|flag|enabled?|status)$|^(is_?|do_)?train(ing)?$", re.IGNORECASE)


class Watcher:
    """Is told of each class of the project's whose modules turn up."""

    def __init__(self, watch: Watch) -> None:
        self._recorder = watch.recorder
        self._told: set[tuple[type, str]] = set()

    def install(self) -> None:
        """Nothing: the watcher of modules asks."""

    def tell(self, cls: type, built_at: int, here: Here) -> None:
        """Writes what the class's own methods of these names need and do."""
        if (cls, "") in self._told or not is_project(cls, self._recorder):
            return
        self._told.add((cls, ""))
        for name in ("train", "eval"):
            owner = next(each for each in cls.__mro__ if name in vars(each))
            code = getattr(inspect.unwrap(vars(owner)[name]), "__code__", None)
            if code is not None and self._recorder.sites.is_users(code.co_filename) and (owner, name) not in self._told:
                self._told.add((owner, name))
                self._recorder.safely(self._tell, cls, owner, name, code, built_at, here)

    def _tell(self, cls: type, owner: type, name: str, code: CodeType, built_at: int, here: Here) -> None:
        file = self._recorder.index.file(code.co_filename)
        span = file.functions.get((code.co_firstlineno, name)) if file is not None else None
        if span is None:
            return
        parameters = list(inspect.signature(vars(owner)[name]).parameters.values())[1:]
        plain = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
        needs = [each.name for each in parameters if each.kind in plain and each.default is inspect.Parameter.empty]
        used = _used(cls, code, set())
        self._recorder.event(
            "ModeMethod",
            here,
            site=self._recorder.sites.number(span),
            class_name=owner.__name__,
            method=name,
            needs=needs,
            takes_mode=any(FLAG.search(each) for each in needs),
            calls_base=bool({"super", "__class__"} & {*code.co_names, *code.co_freevars}) or "Module" in code.co_names,
            switches=bool(used & SWITCHES) or not used,
            trains=bool(used & TRAINS),
            built_at=built_at,
        )


def _used(cls: type, code: CodeType, seen: set[Any]) -> set[str]:
    """The names that a function uses, and the methods of its class that it names."""
    seen.add(code)
    names = set(code.co_names)
    for name in code.co_names:
        inner = getattr(getattr(cls, name, None), "__code__", None)
        if inner is not None and inner not in seen:
            names |= _used(cls, inner, seen)
    return names
