"""The models to which the code that runs gives a part of a batch."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from ..source import spelled
from .wanted import Wanted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..source import Sources


def takers(sources: Sources, wanted: Wanted, kind: Any) -> Iterator[Any]:
    """The objects of a kind that are called with what is wanted in the user's frames, by the names of both."""
    for frame in sources.frames():
        names = {key for key, value in frame.f_locals.items() if _is_same(value, wanted)}
        tree = sources.tree(frame.f_code.co_filename)
        for node in ast.walk(tree) if names and tree is not None else ():
            if isinstance(node, ast.Call) and names & {each.id for each in node.args if isinstance(each, ast.Name)}:
                name = spelled(node.func)
                model = frame.f_locals.get(name, frame.f_globals.get(name))
                if isinstance(model, kind) and any(True for _ in model.parameters()):
                    yield model


def _is_same(value: Any, wanted: Wanted) -> bool:
    return type(value) is Wanted and value._node is wanted._node
