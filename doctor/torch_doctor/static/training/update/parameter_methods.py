"""Methods of parameters and of gradients."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.domains import constants
from torch_doctor.static.flow import Flow
from torch_doctor.static.language import opaque_calls
from torch_doctor.static.library import Stage, library_family
from torch_doctor.static.tables import functions, words
from torch_doctor.static.training.computing import tensors
from torch_doctor.static.training.update import given_gradients, gradient_hooks, parameters
from torch_doctor.static.values import (
    MADE_OF_GRADIENTS,
    Call,
    Const,
    Grads,
    Origin,
    Params,
    Plain,
    Tensor,
    Unknown,
    Value,
)

if TYPE_CHECKING:
    from torch_doctor.static.run import Run


_LEAVES_ZEROS = frozenset(
    words("mul_ div_ true_divide_ clamp_ clip_ clamp_min_ clamp_max_ renorm_ neg_ abs_ nan_to_num_ sign_")
)
"""Methods that leave a gradient of zeros as it is."""


def params_method(run: Run, of: Params, name: str, call: Call) -> Value:
    """Call a method of parameters."""
    if name in ("requires_grad_", "detach_"):  # a leaf that is detached in place needs no gradients any more
        wanted = call.argument(0) or Const(value=name != "detach_")
        parameters.set_trainable(run, of.modules, wanted, call.node, whole=of.whole and not of.among)
        return of
    if name.endswith("_") and not name.startswith("_"):
        for observe in run.observers.changed:
            observe(run, of, call.renamed(f"{call.receiver}.{name}"))
        parameters.changed_by_hand(run, of.modules, call.values, call.node)
        return of
    if name == "values":  # of a dictionary: without their names
        return Params(of.modules, whole=of.whole, bias=of.bias, among=of.among, cut=of.cut)
    if name in ("keys", "items", "copy"):
        return of
    if name.startswith("register_"):
        gradient_hooks.registered(run, name)
        for value in call.args:
            opaque_calls.call_back(run, value, call.node)
        return Plain()
    known = functions.METHODS.get(name)
    if known is not None:
        return tensors.method(run, of, name, known, call)
    return Unknown(Flow(graph=None, modules=of.modules), of.modules)


def grads_method(run: Run, of: Grads, name: str, call: Call) -> Value:
    """Call a method of gradients."""
    first = call.argument(0)
    if constants.FILLED.get(name) == 0 or (
        name in ("fill_", "mul_", "copy_") and first is not None and given_gradients.is_nothing(run, first)
    ):
        given_gradients.cleared(run, of, call.receiver, call.node)
        return of
    if name in ("detach_", "requires_grad_"):
        return of
    if name.endswith("_"):
        parameters.gradients_changed(run, of, call.node, fills=name not in _LEAVES_ZEROS)
        return of
    known = functions.METHODS.get(name)
    return (
        Plain() if known is not None and known.result == "plain" else Tensor(origin=Origin(operation=MADE_OF_GRADIENTS))
    )


@library_family(lambda name: name.startswith("torch.") and name.endswith("_"), stage=Stage.NOTE)
def changed_by_function(run: Run, name: str, call: Call) -> None:
    """`torch.nn.init.zeros_(p.grad)`, and other functions that change the gradients which they get."""
    first = call.argument(0, "tensor")
    if isinstance(first, Grads):
        grads_method(run, first, name.rpartition(".")[2], call.with_args(call.args[1:]))
