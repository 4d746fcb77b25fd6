"""Lowers functions: their parameters, and which names their bodies use and call."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torch_doctor.static import program as p

if TYPE_CHECKING:
    from torch_doctor.static.lowering.context import Lowering


def lower_function(
    low: Lowering,
    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda,
    name: str,
    args: ast.arguments,
    body: list[ast.stmt] | ast.expr,
    decorators: list[ast.expr],
) -> p.Function:
    """The program's function of a `def` or lambda."""
    positional = [*args.posonlyargs, *args.args]
    defaults: list[ast.expr | None] = [None] * (len(positional) - len(args.defaults)) + list(args.defaults)
    parameters = [_parameter(low, arg, "plain", default) for arg, default in zip(positional, defaults, strict=True)]
    if args.vararg is not None:
        parameters.append(_parameter(low, args.vararg, "args", None))
    parameters += [
        _parameter(low, arg, "keyword", default) for arg, default in zip(args.kwonlyargs, args.kw_defaults, strict=True)
    ]
    if args.kwarg is not None:
        parameters.append(_parameter(low, args.kwarg, "kwargs", None))
    lowered_decorators = tuple(low.expr(decorator) for decorator in decorators)
    inner = len(low.functions) > 1
    low.functions.append(({}, set(), [False]))
    block = low.block(body) if isinstance(body, list) else (p.Return(low.at(body), low.expr(body)),)
    uses, calls, yields = low.functions.pop()
    around = low.functions[-1][0]  # a closure uses what its surroundings hold
    for used, attributes in uses.items():
        around.setdefault(used, set()).update(attributes)
    low.functions[-1][1].update(calls)
    function = p.Function(
        low.at(node), name, tuple(parameters), block, lowered_decorators, generator=yields[0], inner=inner
    )
    function.uses = uses
    function.calls = calls
    if not isinstance(node, ast.Lambda):
        row, column, _, _ = function.at
        keyword = "async def " if isinstance(node, ast.AsyncFunctionDef) else "def "
        end = column + len(keyword) + len(name)
        function.name_at = (row, column, row, end)
    return function


def _parameter(low: Lowering, arg: ast.arg, kind: str, default: ast.expr | None) -> p.Parameter:
    return p.Parameter(
        low.at(arg),
        arg.arg,
        kind,
        None if default is None else low.expr(default),
        None if arg.annotation is None else low.expr(arg.annotation),
    )
