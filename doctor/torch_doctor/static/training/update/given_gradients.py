"""Gradients that a script sets itself: to something that it computed, or to zeros, which clears them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.domains import constants, writing
from torch_doctor.static.domains.constants import Filled
from torch_doctor.static.knowledge import Lasting
from torch_doctor.static.program import Slice
from torch_doctor.static.state import per_run
from torch_doctor.static.training.update import parameters
from torch_doctor.static.values import Const, Either, Grads, Making, Tensor
from torch_doctor.trace import Backward, ZeroGrad

if TYPE_CHECKING:
    from torch_doctor.static import program as p
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Value


class Zeros(Lasting):
    """Tensors of zeros that are gradients now."""

    gradients: dict[Making, Grads] = per_run(dict)


def given(run: Run, of: Grads, new: Value, node: p.Node) -> None:
    """`p.grad = new`: the gradients that were there are gone, and where others come in their place, somebody computed them."""
    cleared(run, of, run.text(node), node)
    if not is_nothing(run, new):
        run.emit(
            Backward,
            node,
            name=run.text(node),
            through="assigned",
            loss=run.fact(new),
            modules=of.modules,
            whole=True,
            forwards=new.flow.forwards,
        )
    elif isinstance(new, Tensor):
        run.of(Zeros).gradients.update((made, of) for made in constants.makings(new))


def cleared(run: Run, of: Grads, name: str, node: p.Node) -> None:
    """Write that gradients are gone; where they are those of one of several parameters, nobody can tell whose are left."""
    run.emit(ZeroGrad, node, target=0, name=name, modules=of.modules if of.whole else frozenset[int](), whole=of.whole)


def is_nothing(run: Run, new: Value) -> bool:
    """Whether a gradient that is set to this is none, or all zeros."""
    if isinstance(new, Either):
        return all(is_nothing(run, option) for _, option in new.options)
    if isinstance(new, Const):
        return not new.value
    return run.ask(Filled, new) == 0


def changed(
    run: Run,
    value: Value,
    node: p.Node,
    filled: tuple[Making, Making] | None = None,
    new: Value | None = None,
) -> None:
    """Numbers of a tensor are changed in place: it is no longer all zeros, and neither is the gradient that it may be.

    `filled`: a row is put in as far as it goes; how the tensor was allocated, and how it is filled up by that. `new`: what
    is written, if known.
    """
    if filled is None:
        writing.write(run, value, new)
    else:
        writing.fill(run, *filled)
    gradients = run.of(Zeros).gradients
    for made in constants.makings(value) if gradients else ():
        if made in gradients:
            parameters.gradients_changed(run, gradients[made], node, fills=True)
            return


def set_item(run: Run, of: Grads, new: Value, target: p.Index, node: p.Node) -> None:
    """`p.grad[key] = new`, of all of them or of some."""
    key = target.key
    if not is_nothing(run, new):
        parameters.gradients_changed(run, of, node, fills=True)
    elif isinstance(key, Slice) and key.lower is None and key.upper is None and key.step is None:
        cleared(run, of, run.text(target.value), node)
