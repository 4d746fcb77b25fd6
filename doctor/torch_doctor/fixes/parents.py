"""What each node of a tree is a part of: as libcst's provider has it, which takes ten times as long."""

from __future__ import annotations

from dataclasses import fields
from functools import cache

import libcst as cst


def parents(tree: cst.Module) -> dict[cst.CSTNode, cst.CSTNode]:
    """Return the node around each node of a tree."""
    found: dict[cst.CSTNode, cst.CSTNode] = {}
    waiting: list[cst.CSTNode] = [tree]
    while waiting:
        node = waiting.pop()
        for name in _parts(type(node)):
            value = getattr(node, name)
            for part in value if isinstance(value, list | tuple) else (value,):
                if isinstance(part, cst.CSTNode):
                    found[part] = node
                    waiting.append(part)
    return found


@cache
def _parts(kind: type[cst.CSTNode]) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind))
