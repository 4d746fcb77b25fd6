"""Evaluates the arguments of a call in the source."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static import program as p
from torch_doctor.static.language import containers
from torch_doctor.static.values import Call, Either, Keywords, Mapping, Spread, Unknown, Value, held

if TYPE_CHECKING:
    from torch_doctor.static.run import Run


def call_of(run: Run, node: p.Call) -> Call:
    """The call with its arguments evaluated."""
    args: list[Value] = []
    for argument in node.args:
        if isinstance(argument, p.Star):
            content = containers.content_of(run, run.evaluate(argument.value))
            if content.rest is None:
                args.extend(content.items)
            else:
                args.append(Spread(content))
        else:
            value = run.evaluate(argument)
            args.append(run.resolve(value) if isinstance(value, Either) else value)
    keywords: Keywords = {}
    for name, expression in node.keywords:
        value = run.resolve(run.evaluate(expression))
        if name is not None:
            keywords[name] = value
        elif isinstance(value, Mapping):
            for key, item in value.fields.items():
                if isinstance(key, tuple) and isinstance(key[1], str):
                    keywords[key[1]] = run.resolve(item)
            if "rest" in value.fields:
                keywords["**"] = value.fields["rest"]
        else:
            keywords["**"] = Unknown(value.flow, held((value,)))
    return Call(tuple(args), keywords, node, run.text(node.func))
