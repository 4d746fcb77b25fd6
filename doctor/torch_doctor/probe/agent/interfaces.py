"""Calls that fail whatever their values are: the arguments do not fit the interface of what is called."""

from __future__ import annotations

import ast
import builtins
import difflib
import inspect
import linecache
import os
import re
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import CodeType, FrameType, TracebackType

    Trees = Callable[[str], ast.Module | None]
    IsUsers = Callable[[str], bool]

FOLDER = os.path.dirname(os.path.abspath(__file__)) + os.sep
UNEXPECTED = re.compile(r"unexpected keyword argument '(\w+)'")
SHORT = 16  # characters of a default that is shown
LONGEST = 200  # characters of parameters that are shown
ALIKE, CLOSEST = 3, 0.5
"""Parameters that are shown first, and how alike their names have to be to the argument that is lacking."""


class Mismatch(NamedTuple):
    """What the interface expects, and the function of the script that a library called so, where it is one."""

    text: str
    called: CodeType | None


class Refused(NamedTuple):
    """A call whose arguments do not fit: its text, what is called, and why not."""

    call: ast.Call
    called: Any
    function: Any
    signature: inspect.Signature
    why: str


def mismatch(error: BaseException, tree: Trees, is_users: IsUsers) -> Mismatch | None:
    """Return what an interface expects, if the error is a call that does not fit it.

    The call is written out in the source, in the script or in a library that it called: no value of the run has a part in it.
    `tree` returns the syntax of a file of the script, `is_users` whether a file is one.
    """
    if type(error) is not TypeError or "argument" not in str(error):
        return None
    try:
        return _found(error, tree, is_users)
    except Exception:  # noqa: BLE001 - sources that do not parse, objects of the user's that raise
        return None


def _found(error: TypeError, tree: Trees, is_users: IsUsers) -> Mismatch | None:
    inner: CodeType | None = None
    for frame, last in reversed(list(_frames(error.__traceback__))):
        path = frame.f_code.co_filename
        if path.startswith(FOLDER):
            continue
        for call in _calls(frame, last, tree):
            found = _refused(call, frame, inner)
            if found is not None and found.why in {"", *UNEXPECTED.findall(str(error))}:
                return _described(found, path, is_users)
        if is_users(path):
            return None
        inner = frame.f_code
    return None


def _frames(trace: TracebackType | None) -> Iterator[tuple[FrameType, tuple[int, int]]]:
    """The frames of a traceback with the lines that they were at, or the line and column, where Python knows it."""
    while trace is not None:
        yield trace.tb_frame, _position(trace)
        trace = trace.tb_next


def _position(trace: TracebackType) -> tuple[int, int]:
    positions = getattr(trace.tb_frame.f_code, "co_positions", None)
    for number, (row, _, column, _) in enumerate(positions() if positions is not None else ()):
        if number == trace.tb_lasti // 2 and row is not None and column is not None:
            return row, column
    return trace.tb_lineno, -1


def _calls(frame: FrameType, last: tuple[int, int], tree: Trees) -> list[ast.Call]:
    """The calls that may be under way in a frame, the innermost first."""
    path, (row, column) = frame.f_code.co_filename, last
    syntax = tree(path) or ast.parse("".join(linecache.getlines(path, frame.f_globals)))
    found = [
        node
        for node in ast.walk(syntax)
        if isinstance(node, ast.Call)
        and node.lineno <= row <= (node.end_lineno or row)
        and (column < 0 or (node.lineno, node.col_offset) == last)
    ]
    return sorted(found, key=lambda node: (node.end_lineno or 0, node.end_col_offset or 0))


def _refused(call: ast.Call, frame: FrameType, inner: CodeType | None) -> Refused | None:
    """The call, if what it calls is known and does not take its arguments; `inner` is the code that ran in it."""
    try:
        called = _value(call.func, frame)
        function = inspect.unwrap(_function(called))
        signature = inspect.signature(_callable(called))
    except Exception:  # noqa: BLE001 - names that are unbound, attributes that raise, functions of C
        return None
    code = getattr(function, "__code__", None)
    where = _file(called, code)
    if (code is not None and code is inner) or where.startswith(FOLDER):
        return None
    named = {each.arg: None for each in call.keywords if each.arg is not None}
    open_ended = len(named) < len(call.keywords) or any(isinstance(each, ast.Starred) for each in call.args)
    bind = signature.bind_partial if open_ended else signature.bind
    try:
        bind(*(None for each in call.args if not isinstance(each, ast.Starred)), **named)
    except TypeError as error:
        unknown = UNEXPECTED.search(str(error))
        return Refused(call, called, function, signature, unknown[1] if unknown else "")
    return None


def _value(node: ast.expr, frame: FrameType) -> Any:
    """What an expression of names and attributes stands for in a frame.

    Raises:
        LookupError: it is another expression, or a name has no value.
    """
    if isinstance(node, ast.Name):
        for space in (frame.f_locals, frame.f_globals, vars(builtins)):
            if node.id in space:
                return space[node.id]
    if isinstance(node, ast.Attribute):
        return getattr(_value(node.value, frame), node.attr)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "super" and not node.args:
        names = frame.f_code.co_varnames
        return super(frame.f_locals["__class__"], frame.f_locals[names[0]])
    raise LookupError(ast.dump(node))


def _callable(called: Any) -> Any:
    """What has the signature of a call: the `forward` of a module."""
    forward = getattr(called, "forward", None)
    torch = sys.modules.get("torch")
    module = torch is not None and isinstance(called, torch.nn.Module)
    return forward if module and callable(forward) else called


def _function(called: Any) -> Any:
    """The function that runs in a call, of a class that which builds its objects."""
    if isinstance(called, type):
        build, make = vars(object)["__init__"], "__new__"
        return getattr(called, "__init__" if getattr(called, "__init__", build) is not build else make)
    called = _callable(called)
    return getattr(called, "__func__", called)


def _file(called: Any, code: CodeType | None) -> str:
    """The file of what is called; that of its module, where the code is generated, as for a dataclass."""
    if code is not None and not code.co_filename.startswith("<"):
        return code.co_filename
    module = sys.modules.get(getattr(called, "__module__", None) or "")
    return str(getattr(module, "__file__", None) or "")


def _described(found: Refused, caller: str, is_users: IsUsers) -> Mismatch:
    code = getattr(found.function, "__code__", None)
    name = ast.unparse(found.call.func)
    lacks = f"has no argument `{found.why}`" if found.why else "does not take these arguments"
    if code is not None and not is_users(caller) and is_users(code.co_filename):
        name = getattr(found.function, "__qualname__", name)
        text = f"{_package(caller)} calls `{ast.unparse(found.call)}`, but `{name}({_expected(found)})` {lacks}"
        return Mismatch(text, code)
    of = _package(_file(found.called, code), found.called)
    text = f"`{name}` of {of} {lacks}" if of else f"`{name}` {lacks}"
    return Mismatch(f"{text}; it expects `{name}({_expected(found)})`", None)


def _package(path: str, called: Any = None) -> str:
    """The installed package that a file belongs to, with its version; empty for the script's own files."""
    parts = path.split(os.sep)
    installed = [place for place, part in enumerate(parts) if part in {"site-packages", "dist-packages"}]
    if not installed:
        return ""
    top = parts[installed[-1] + 1].removesuffix(".py")
    module = str(getattr(called, "__module__", None) or top).partition(".")[0]
    version = getattr(sys.modules.get(module), "__version__", "")
    release = version.partition("+")[0] if isinstance(version, str) else ""  # without the build
    return f"{module} {release}".rstrip()


def _expected(found: Refused) -> str:
    """The parameters; of many those that resemble the argument that they lack, and the first ones."""
    every = {name: _parameter(each) for name, each in found.signature.parameters.items()}
    close = difflib.get_close_matches(found.why, every, ALIKE, CLOSEST) if found.why else []
    shown: list[str] = []
    for name in [*close, *every]:
        if name not in shown and sum(len(every[each]) + 2 for each in [*shown, name]) <= LONGEST:
            shown.append(name)
    left = len(every) - len(shown)
    return ", ".join([*(every[name] for name in every if name in shown), *([f"… {left} more"] if left else [])])


def _parameter(parameter: inspect.Parameter) -> str:
    """A parameter without its type, and with its default where that is short."""
    default = "…"
    if isinstance(parameter.default, (int, float, str, bool, type(None))) and len(repr(parameter.default)) <= SHORT:
        default = repr(parameter.default)
    plain = parameter.replace(annotation=parameter.empty, default=parameter.empty)
    return str(plain) if parameter.default is parameter.empty else f"{plain}={default}"


__all__ = ["Mismatch", "mismatch"]
