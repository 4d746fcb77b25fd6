"""Models of the script's own classes whose arguments cannot be computed: built from what is known, and sizes by name."""

from __future__ import annotations

import ast
import sys
from typing import TYPE_CHECKING, Any

from ..arguments.values import number

if TYPE_CHECKING:
    from types import FrameType

    from ..source import Sources

STAYING = frozenset({"to", "cuda", "cpu", "train", "float", "double", "half"})
"""Methods of a model that return it."""
PLAIN = (ast.Name, ast.Attribute, ast.Subscript, ast.Constant, ast.Tuple, ast.List, ast.Dict, ast.BinOp, ast.UnaryOp)
"""Expressions that run no function; what they are made of, too."""
PARTS = (*PLAIN, ast.expr_context, ast.operator, ast.unaryop)
CHANNELS, COLOURS = ("in_ch", "input_ch", "n_channels"), 3


def built(torch: Any, sources: Sources, frame: FrameType) -> Any:
    """The model that the statement of a frame was to build; None where it builds none, or it cannot be built."""
    statement = next(iter(sources.statements(frame)), None)
    value = getattr(statement, "value", None)
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in STAYING:
        value = value.func.value
    kind = _evaluated(value.func, frame) if isinstance(value, ast.Call) else None
    if not isinstance(value, ast.Call) or not isinstance(kind, type) or not issubclass(kind, torch.nn.Module):
        return None
    code = getattr(vars(kind).get("__init__"), "__code__", None)
    if code is None or not sources.is_users(getattr(sys.modules.get(kind.__module__), "__file__", "") or ""):
        return None
    names = code.co_varnames[1 : code.co_argcount]
    if any(isinstance(each, ast.Starred) for each in value.args) or any(each.arg is None for each in value.keywords):
        return None
    given = [_given(each, names[place] if place < len(names) else "", frame) for place, each in enumerate(value.args)]
    named = {each.arg or "": _given(each.value, each.arg or "", frame) for each in value.keywords}
    try:
        return kind(*given, **named)
    except Exception:  # noqa: BLE001 - whatever the script's class raises
        return None


def _given(node: ast.expr, name: str, frame: FrameType) -> Any:
    known = _evaluated(node, frame)
    if known is not None or isinstance(node, ast.Constant):
        return known
    return COLOURS if name.lower().startswith(CHANNELS) else number(name)


def _evaluated(node: ast.expr, frame: FrameType) -> Any:
    """What an expression is, where that can be computed without any function; else None."""
    if not all(isinstance(each, PARTS) for each in ast.walk(node)):
        return None
    try:
        whole = compile(ast.Expression(node), "<argument>", "eval")
        return eval(whole, frame.f_globals, frame.f_locals)  # noqa: S307 - a part of the user's own statement
    except Exception:  # noqa: BLE001 - whatever the script's objects raise
        return None
