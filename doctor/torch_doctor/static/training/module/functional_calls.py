"""`torch.func.functional_call`: modules that are called with parameters given beside the input."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.flow import blend
from torch_doctor.static.library import library
from torch_doctor.static.training.module import module_parts
from torch_doctor.static.training.update import parameters
from torch_doctor.static.values import Call, Const, Mapping, Module, Sequence, Tensor, Value, leaves

if TYPE_CHECKING:
    from torch_doctor.static.run import Run


@library("torch.func.functional_call", "torch.nn.utils.stateless.functional_call")
def functional_call(run: Run, _: str, call: Call) -> Value | None:
    """Call a module: as it is where it gets its own parameters, and with autograd off where they and its input have no graph.

    With other parameters it is another module, which nobody knows.
    """
    module, given = call.argument(0, "module"), call.argument(1, "parameter_and_buffer_dicts")
    if not isinstance(module, Module) or given is None:
        return None
    inner = _inner(run, call)
    if inner is None:
        return None
    owners, whole = parameters.parameters_in(run, (given,))
    own = module_parts.parts_of(run, module).owners
    if whole and owners and owners <= own:
        return run.call(module, inner)
    if not owners and _without_graph(run, given) and blend(value.flow for value in inner.values).graph is False:
        before = run.set_grad(call.name, enabled=False, node=call.node)
        result = run.call(module, inner)
        run.set_grad(call.name, before, call.node, leave=True)
        return result
    return None


def _inner(run: Run, call: Call) -> Call | None:
    """What the module is called with; None where that is not known."""
    args, named = call.argument(2, "args"), call.argument(3, "kwargs")
    if isinstance(args, Sequence) and args.content.rest is None:
        items = args.content.items
    elif isinstance(args, Tensor):
        items = (args,)
    else:
        return None
    keywords: dict[str, Value] = {}
    if isinstance(named, Mapping):
        keywords = {key[1]: value for key, value in named.fields.items() if isinstance(key, tuple)}
    elif named is not None and not isinstance(named, Const):
        return None
    return Call(items, keywords, call.node, run.text_of_argument(call.node, 0))


def _without_graph(run: Run, given: Value) -> bool:
    """Whether all that is given are tensors that have no graph and want none."""
    found = list(leaves(given, decided=run.resolve, more=parameters.GIVING))
    return bool(found) and all(isinstance(value, Tensor) and value.flow.graph is False for value in found)
