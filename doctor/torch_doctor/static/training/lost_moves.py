"""Statements that move a tensor and leave the moved one alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static import program as p
from torch_doctor.static.knowledge import Knowledge
from torch_doctor.static.tables import functions, words
from torch_doctor.static.training import places, roles
from torch_doctor.static.values import Tensor, Unknown
from torch_doctor.trace import MoveLost

if TYPE_CHECKING:
    from collections.abc import Iterable

    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Value


class Lost(Knowledge):
    """What a statement moved, if it is a tensor."""

    def __init__(self) -> None:
        self.moves: dict[int, tuple[Value, p.Node, str]] = {}  # by id


_OF_OTHERS = frozenset(
    words(
        """
        to cuda cpu type float double half bfloat16 size keys values items data max min sum mean copy_ clone contiguous
        pin_memory device dtype grad requires_grad requires_grad_ register_hook zero_ share_memory_ is_cuda
        """
    )
)
"""Methods of tensors that other things that move in place have too."""
_OF_TENSORS = frozenset((*functions.METHODS, *functions.ATTRIBUTES))


def dropped(run: Run, node: p.Expr) -> None:
    """Nobody takes the result of this call: a tensor does not move in place, other things may do so."""
    call, value = run.of(places.Meetings).moved
    if (
        call is not node
        or value is None
        or not isinstance(node, p.Call)
        or not isinstance(node.func, p.Attribute)
        or not _named(node.func.value)
    ):
        return
    place = places.of(value)
    name = run.text(node.func.value)
    if value.flow.forwards or places.is_away(run, place):
        return  # what a model returned is where the model is
    moved = places.disturbed(run, value)
    if isinstance(value, Tensor) or _used_as_tensor(run, name):
        _tell(run, value, node, name)
    elif isinstance(value, Unknown):
        run.of(Lost).moves[id(moved)] = moved, node, name


def used(run: Run, values: Iterable[Value]) -> None:
    """These are tensors for certain: a loss gets them."""
    for value in values if run.of(Lost).moves else ():
        found = run.of(Lost).moves.pop(id(value), None)
        if found is not None:
            _tell(run, *found)


def _tell(run: Run, value: Value, node: p.Node, name: str) -> None:
    run.emit(MoveLost, node, name=name, device="", elements=0)
    run.of(Lost).moves.pop(id(value), None)


def _named(node: p.Expr) -> bool:
    """Whether an expression names something that is there afterwards: `x`, `self.x`, `batch["x"]`."""
    while isinstance(node, (p.Attribute, p.Index)):
        if isinstance(node, p.Index) and not isinstance(node.key, (p.Const, p.Name)):
            return False
        node = node.value
    return isinstance(node, p.Name)


def _used_as_tensor(run: Run, name: str) -> bool:
    """Whether the function takes attributes of it that tensors have, and nothing else has that moves in place."""
    uses = {use.removesuffix("(...)") for use in roles.uses_of(run, name)}
    return bool(uses & _OF_TENSORS - _OF_OTHERS) and uses <= _OF_TENSORS
