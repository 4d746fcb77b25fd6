"""Base classes of modules that are not there: what the class that has one for its base needs."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from ...handed import hand

if TYPE_CHECKING:
    from types import FrameType

    from ..source import Sources


def base_for(sources: Sources, frame: FrameType, name: str, torch: Any) -> tuple[type, str]:
    """A base for the class that `frame` defines, and what it is called: by the methods that the class has."""
    tree = sources.tree(frame.f_code.co_filename)
    classes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)] if tree is not None else []
    methods = {
        each.name
        for node in classes
        if min([node.lineno, *(part.lineno for part in node.decorator_list)]) <= frame.f_lineno <= node.body[0].lineno
        for each in node.body
        if isinstance(each, ast.FunctionDef)
    }
    if torch is not None:
        if methods & {"forward"}:
            return _taking_all(torch.nn.Module), "torch.nn.Module"
        if "__getitem__" in methods:
            return _taking_all(torch.utils.data.Dataset), "torch.utils.data.Dataset"
    plain = type(name.rpartition(".")[2], (), {"__init__": _ignore, "__init_subclass__": classmethod(_ignore)})
    return plain, "a class without methods"


def _ignore(*arguments: Any, **keywords: Any) -> None:
    """What is given to a constructor of which nothing is known."""
    hand((*arguments[1:], *keywords.values()))


def _taking_all(base: Any) -> Any:
    """A base whose objects are complete before their constructor runs, and that takes any arguments."""

    def make(cls: Any, *_: Any, **__: Any) -> Any:
        made = object.__new__(cls)
        base.__init__(made)
        return made

    return type(
        base.__name__, (base,), {"__new__": make, "__init__": _ignore, "__init_subclass__": classmethod(_ignore)}
    )
