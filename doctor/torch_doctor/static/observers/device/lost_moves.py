"""Statements that move a tensor and leave the moved one alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static import program as p
from torch_doctor.static.observer import Observer, override
from torch_doctor.static.state import per_path
from torch_doctor.static.tables import functions, words
from torch_doctor.static.training import places
from torch_doctor.static.training.unresolved import usage
from torch_doctor.static.values import Tensor, Unknown
from torch_doctor.trace import MoveLost

if TYPE_CHECKING:
    from collections.abc import MutableMapping

    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Value


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
_SET = frozenset(words("data= grad= requires_grad="))
"""Attributes of tensors that may be set."""


class LostMoves(Observer):
    """What a statement moved, if it is a tensor."""

    writes = (MoveLost,)

    _moves: MutableMapping[int, tuple[Value, p.Node, str]] = per_path(dict)  # by the id of the value

    @override
    def stated(self, run: Run, node: p.Expr, _: Value) -> None:
        """Nobody takes the result of this call: a tensor does not move in place, other things may do so.

        What ends a cell of a notebook is displayed, and is there to be looked at.
        """
        dropped = run.of(places.Placement).dropped
        if dropped is None or dropped.node is not node or not isinstance(node, p.Call):
            return
        if run.position.frame.unit.source.displays(run.site(node)):
            return
        name = run.text(node.func.value) if isinstance(node.func, p.Attribute) else ""
        if isinstance(dropped.value, Tensor) or _used_as_tensor(run, name):
            self._tell(run, dropped.value, node, name)
        elif isinstance(dropped.value, Unknown):
            self._moves[id(dropped.now)] = dropped.now, node, name

    @override
    def lossed(self, run: Run, values: tuple[Value, ...], _: p.Node) -> None:
        """These are tensors for certain: a loss gets them."""
        for value in values if self._moves else ():
            found = self._moves.pop(id(value), None)
            if found is not None:
                self._tell(run, *found)

    def _tell(self, run: Run, value: Value, node: p.Node, name: str) -> None:
        run.emit(MoveLost, node, name=name, device="", elements=0)
        self._moves.pop(id(value), None)


def _used_as_tensor(run: Run, name: str) -> bool:
    """Whether the function takes attributes of it that tensors have, and nothing else has that moves in place.

    What is set under the name of a method of tensors, or read there and never called, is a field of something else.
    """
    uses = usage.of_name(run, name) - _SET
    called = {use.partition("(")[0] for use in uses if use.endswith(")")}
    read = {use for use in uses if not use.endswith(")")}
    may_be = called <= _OF_TENSORS and read <= called | functions.ATTRIBUTES.keys()
    return may_be and bool((called | read) & _OF_TENSORS - _OF_OTHERS)
