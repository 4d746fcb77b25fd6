"""Into how many parts the code takes something."""

from __future__ import annotations

import ast


def taken_of(name: str, tree: ast.Module) -> int:
    """How many parts the code takes of what is called so, by their places or into names."""
    most = 0
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id == name:
            place = node.slice
            if isinstance(place, ast.Constant) and type(place.value) is int and place.value >= 0:
                most = max(most, place.value + 1)
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Name) and node.value.id == name:
            most = max([most, *(len(each.elts) for each in node.targets if isinstance(each, (ast.Tuple, ast.List)))])
    return most
