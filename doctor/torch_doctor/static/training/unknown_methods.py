"""Methods of something that is not known, when the method's name tells what it must be."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.flow import Flow, blend
from torch_doctor.static.language import outside
from torch_doctor.static.tables import functions
from torch_doctor.static.tables.data import REORDERING_METHODS
from torch_doctor.static.tables.methods import MOVES
from torch_doctor.static.training import gradients, keeping, module_parts, places, rows, tensors
from torch_doctor.static.values import (
    NOTHING,
    Args,
    Keywords,
    Module,
    Plain,
    Tensor,
    Unknown,
    UnknownAttribute,
    Value,
)
from torch_doctor.trace import (
    Escaped,
    Stepped,
    ZeroGrad,
)

if TYPE_CHECKING:
    from torch_doctor.static import program as p
    from torch_doctor.static.executor import Executor


def method_of_unknown(
    run: Executor, of: UnknownAttribute, args: Args, keywords: Keywords, node: p.Node, spelling: str
) -> Value:  # noqa: PLR0911 - one branch per protocol
    """A method of something that is not known, when its name tells what it must be."""
    name, owner = of.name, of.of
    receiver = spelling.rpartition(".")[0] or spelling
    known = functions.METHODS.get(name)
    if name in REORDERING_METHODS:
        rows.reordered(run, node)
    if name == "backward" and not args:
        gradients.backward(run, owner, node, receiver, through="backward", keywords=keywords)
        return NOTHING
    if (
        name == "backward"
        and isinstance(args[0], (Tensor, Unknown))
        and args[0].flow.forwards
        and not owner.flow.forwards
    ):
        gradients.backward(run, args[0], node, run.text_of_argument(node, 0), through=spelling, keywords=keywords)
        return NOTHING
    if name == "zero_grad":
        modules = module_parts.with_parts(
            run, frozenset(n for n in owner.holds if isinstance(run.objects.get(n), Module))
        )
        run.emit(ZeroGrad, node, target=0, name=receiver, modules=modules, whole=False)
        run.cleared.add(owner.symbol)
        return NOTHING
    if name == "step" and not args and not keywords and owner.symbol in run.cleared:  # an optimizer, then
        outside.hand_over(run, spelling, [owner], [], node)
        modules = frozenset(n for n in owner.holds if isinstance(run.objects.get(n), Module))
        run.emit(Stepped, node, optimizer=0, name=receiver, modules=module_parts.with_parts(run, modules), whole=False)
        return NOTHING
    if name in ("append", "add", "appendleft") and args and args[0].flow.graph is True:
        keeping.keep_item(run, args[0], frozenset(), node, receiver, bounded=True)  # where it goes is out of sight
    if name in MOVES or (known is not None and owner.flow.source.value != "unknown"):
        if known is not None and known.result == "plain":
            return Plain()
        place = places.moved(run, owner, name, args, keywords, node) if name in MOVES else None
        if known is not None and known.kind is not None and owner.flow.forwards:
            return tensors.computed(run, name, known, (owner, *args), keywords, node, dims=len(args) + len(keywords))
        flow = owner.flow if known is None or known.graph else owner.flow.cut()
        if name not in MOVES and known is not None and known.result == "tensor" and known.scalar is False:
            place = places.result(run, (owner,))
        return Unknown(flow, owner.holds, place=place)
    if known is not None and (owner.flow.forwards or owner.flow.graph is True):
        return tensors.computed(run, name, known, (owner, *args), keywords, node, dims=len(args) + len(keywords))
    if known is not None and known.result == "plain" and name in ("item", "tolist", "numpy", "numel", "size", "dim"):
        return Plain()
    if known is not None and not known.graph and name == "detach":
        return Unknown(owner.flow.cut(), owner.holds, place=owner.place)
    values = [*args, *keywords.values()]
    if not values and known is None:
        if name == "step" and not owner.holds:
            run.emit(Escaped, node, to=spelling)  # what steps is out of sight: something does
        outside.hand_over(run, spelling, [owner], [], node)
        return Unknown(
            owner.flow if owner.flow.forwards else Flow(graph=None), owner.holds, (".()", owner.symbol, name)
        )
    result = outside.opaque(run, of, args, keywords, node, spelling)
    if owner.flow.forwards and isinstance(result, Unknown):
        return Unknown(blend((result.flow, owner.flow)), result.holds | owner.holds)
    return result
