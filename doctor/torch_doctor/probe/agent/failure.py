"""What can be said of an exception beside its words: the values in the statement that failed, and the layer that was at work."""

from __future__ import annotations

import ast
import contextlib
from typing import TYPE_CHECKING, Any

from .stand_ins.source import expressions

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from types import FrameType, TracebackType

    from .stand_ins.source import Sources

OF_ARRAYS = frozenset({"shape", "ndim", "dtype"})
METHODS = frozenset({"size", "dim", "ndimension", "numel"})
PLAIN = (dict, list, tuple, str)
LAYER = (
    "in_features",
    "in_channels",
    "num_embeddings",
    "num_features",
    "input_size",
    "embed_dim",
    "normalized_shape",
)
"""Attributes of layers that say what they take."""
DEEPEST = 2
MOST, LONGEST = 60, 200
UNKNOWN = "?"
"""What cannot be said without running anything."""


def described(error: BaseException, trace: TracebackType | None, sources: Sources) -> dict[str, Any]:
    """The classes of an exception, the layer that raised it, and the terms of the user's statement with their values."""
    found: dict[str, Any] = {"kinds": [kind.__name__ for kind in type(error).__mro__[:-2]]}
    frames = list(_frames(trace))
    own = [(frame, row) for frame, row in frames if sources.is_users(frame.f_code.co_filename)]
    for frame, _ in reversed(frames):
        if "input" in frame.f_locals and frame.f_globals.get("__name__") == "torch.nn.functional":
            found["input"] = _plain(frame.f_locals["input"], 0)
        layer = _layer(frame.f_locals.get("self"))
        if layer:
            found["layer"] = layer
            break
    owner = getattr(error, "obj", None)
    if owner is not None and isinstance(error, AttributeError):
        found["owner"] = [type(owner).__module__, type(owner).__name__]
        found["attribute"] = getattr(error, "name", None) or ""
    if isinstance(error, KeyError) and error.args:
        found["key"] = _plain(error.args[0], 0)
    if sources.sought:
        found["sought"] = list(sources.sought)
    if own:
        frame, row = own[-1]
        tests = list(sources.around(frame.f_code.co_filename, row))
        found["terms"] = _terms(tests, frame)
        found["callee"] = _callee(tests[0], frame, str(error)) if tests and isinstance(error, TypeError) else None
        found["module"] = frames[-1][0].f_globals.get("__name__", "")
        if "key" in found:
            found["among"] = _among(found["key"], own)
    return found


def _frames(trace: TracebackType | None) -> Iterator[tuple[FrameType, int]]:
    while trace is not None:
        yield trace.tb_frame, trace.tb_lineno
        trace = trace.tb_next


def _layer(thing: Any) -> dict[str, Any]:
    """What a layer takes, by its attributes."""
    if not any(kind.__module__ == "torch.nn.modules.module" for kind in type(thing).__mro__):
        return {}
    given = {name: _plain(vars(thing).get(name), 0) for name in LAYER if vars(thing).get(name) is not None}
    return {"class": type(thing).__name__, **given} if given else {}


def _callee(statement: ast.stmt, frame: FrameType, words: str) -> str | None:
    """The function of a library that refused its arguments, which the words name, by its module and name."""
    for node in expressions(statement):
        value = _looked_up(node.func, frame) if isinstance(node, ast.Call) else None
        name, module = getattr(value, "__qualname__", ""), getattr(value, "__module__", None)
        if isinstance(name, str) and isinstance(module, str) and name and words.startswith(name):
            return f"{module}.{name}"
    return None


def _terms(statements: list[ast.stmt], frame: FrameType) -> dict[str, Any]:
    """The values of the parts of a statement, and of the test that led to it, by how they are written."""
    found: dict[str, Any] = {}
    around = statements[: 2 if statements and isinstance(statements[0], ast.Raise) else 1]
    for node in (node for statement in around for node in expressions(statement)):
        if len(found) < MOST and isinstance(node, ast.expr) and not isinstance(node, ast.Constant):
            value = _looked_up(node, frame)
            if value is not UNKNOWN and (plain := _plain(value, DEEPEST)) is not UNKNOWN:
                found.setdefault(ast.unparse(node), plain)
    return found


def _looked_up(node: ast.AST, frame: FrameType) -> Any:  # noqa: PLR0911 - by form
    """What an expression is, where that can be seen without running anything of the user's."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name):
        return frame.f_locals.get(node.id, frame.f_globals.get(node.id, UNKNOWN))
    if isinstance(node, (ast.Tuple, ast.List)):
        parts = [_looked_up(each, frame) for each in node.elts]
        return UNKNOWN if any(each is UNKNOWN for each in parts) else parts
    if isinstance(node, ast.Attribute):
        owner = _looked_up(node.value, frame)
        if node.attr in OF_ARRAYS and _is_array(owner):
            return getattr(owner, node.attr)
        return getattr(owner, "__dict__", {}).get(node.attr, UNKNOWN)
    if isinstance(node, ast.Subscript):
        owner, key = _looked_up(node.value, frame), _looked_up(node.slice, frame)
        if type(owner) in PLAIN and type(key) in (int, str):
            with contextlib.suppress(LookupError, TypeError):
                return owner[key]
        return UNKNOWN
    return _asked(node, frame) if isinstance(node, ast.Call) else UNKNOWN


def _asked(call: ast.Call, frame: FrameType) -> Any:
    """What `len(x)`, `x.size(0)` and their like give."""
    if isinstance(call.func, ast.Name) and call.func.id == "len" and len(call.args) == 1:
        value = _looked_up(call.args[0], frame)
        return len(value) if type(value) in PLAIN or _is_array(value) else UNKNOWN
    if isinstance(call.func, ast.Attribute) and call.func.attr in METHODS:
        owner, given = _looked_up(call.func.value, frame), [_looked_up(each, frame) for each in call.args]
        if _is_array(owner) and hasattr(owner, call.func.attr) and all(type(each) is int for each in given):
            return getattr(owner, call.func.attr)(*given)
    return UNKNOWN


def _is_array(value: Any) -> bool:
    """Whether it is an array or a tensor of a library, and nothing of the user's or ours."""
    return (
        type(value).__module__.partition(".")[0] in ("torch", "numpy")
        and type(getattr(value, "shape", None)) is not property
    )


def _plain(value: Any, depth: int) -> Any:
    """A value as JSON, where it is a number, a text or a few of them; of arrays and dictionaries what they are."""
    if value is None or type(value) in (bool, int, float):
        return value
    if type(value) is str:
        return value[:LONGEST]
    if _is_array(value) and isinstance(getattr(value, "shape", None), tuple):
        return {"shape": [int(side) for side in value.shape]}
    if isinstance(value, dict):
        return {"keys": [key for key in list(dict.keys(value))[:MOST] if isinstance(key, (str, int))]}
    if isinstance(value, (list, tuple)):
        return [_plain(each, depth - 1) for each in list(value)[:MOST]] if depth >= 0 else UNKNOWN
    return UNKNOWN


def _among(key: Any, own: list[tuple[FrameType, int]]) -> list[Any]:
    """The texts of a list, or the keys of a dictionary, of the script in which a key is one of several."""
    for frame, _ in reversed(own):
        namespaces: list[Mapping[str, Any]] = [frame.f_locals, frame.f_globals]
        for value in (each for namespace in namespaces for each in list(namespace.values())):
            if type(value) in (list, tuple) and 1 < len(value) <= MOST and key in value:
                return [one for one in value if isinstance(one, str)]
    return []
