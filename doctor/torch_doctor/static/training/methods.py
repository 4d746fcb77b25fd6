"""Calls methods of what is no object of the project's classes, by the sort of receiver."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.language import containers, outside
from torch_doctor.static.training import (
    container_methods,
    distributions,
    logged,
    module_methods,
    optimizer_methods,
    parameters,
    tensors,
)
from torch_doctor.static.values import (
    NOTHING,
    Args,
    Const,
    Distribution,
    Either,
    Grads,
    Instance,
    Keywords,
    Loader,
    Mapping,
    Method,
    Module,
    Optimizer,
    ParameterValue,
    Params,
    Plain,
    Sequence,
    Stream,
    Tensor,
    Tool,
    Unknown,
    Value,
    plain_from,
    summary,
)

if TYPE_CHECKING:
    from torch_doctor.static import program as p
    from torch_doctor.static.executor import Executor


def call_method(
    run: Executor, of: Value, name: str, args: Args, keywords: Keywords, node: p.Node, spelling: str
) -> Value:  # noqa: C901, PLR0911, PLR0912 - one line per sort of receiver
    """Call a method of something whose class is not the project's."""
    if isinstance(of, Either):
        return summary(call_method(run, option, name, args, keywords, node, spelling) for _, option in of.options)
    receiver = spelling.rpartition(".")[0] or spelling
    if isinstance(of, Optimizer):
        return optimizer_methods.optimizer_method(run, of, name, args, keywords, node, receiver)
    if isinstance(of, Module):
        return module_methods.module_method(run, of, name, args, keywords, node, receiver)
    if isinstance(of, (Tensor, ParameterValue)):
        return tensors.tensor_method(run, of, name, args, keywords, node, receiver)
    if isinstance(of, Params):
        return parameters.params_method(run, of, name, args, keywords, node)
    if isinstance(of, Grads):
        return parameters.grads_method(run, of, name, args, node, receiver)
    if isinstance(of, Sequence):
        return container_methods.sequence_method(run, of, name, args, keywords, node, receiver)
    if isinstance(of, Mapping):
        return container_methods.mapping_method(run, of, name, args, keywords, node)
    if isinstance(of, Distribution) and (found := distributions.method(run, of, name, args)) is not None:
        return found
    if isinstance(of, Tool):
        if args or keywords:
            _may_be_set(run, of)
        return optimizer_methods.tool_method(run, of, name, args, keywords, node, receiver)
    if isinstance(of, (Const, Plain)):
        return plain_from((of, *args))
    if isinstance(of, Loader):
        return (
            containers.element_of(run, of)
            if name in ("__next__", "next")
            else Plain()
            if name == "__len__"
            else Unknown()
        )
    if isinstance(of, Stream) and of.bar:
        logged.logged(run, f"tqdm.tqdm.{name}", args, keywords, node, spelling)
        return Plain()
    if isinstance(of, Instance):
        return _inherited(run, of, name, args, keywords, node, spelling)
    return outside.opaque(run, Method(of, name), args, keywords, node, spelling)


def _may_be_set(run: Executor, thing: Tool, depth: int = 3) -> None:
    """A library's object is given something, as a configuration is a file: its constants may be others from here on."""
    for key, value in list(thing.fields.items()):
        if isinstance(value, Const) and isinstance(key, str):
            run.heap.set(thing.fields, key, Plain(("set", thing.id, key)))
        elif isinstance(value, Tool) and depth:
            _may_be_set(run, value, depth - 1)


def _inherited(
    run: Executor, of: Instance, name: str, args: Args, keywords: Keywords, node: p.Node, spelling: str
) -> Value:
    if name == "__init__":
        return NOTHING
    return outside.opaque(run, Method(of, name), args, keywords, node, spelling)
