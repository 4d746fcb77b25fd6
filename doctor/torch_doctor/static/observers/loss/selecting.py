"""Items of batches that decide which samples a loss is computed from, or how much each of them counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from torch_doctor.static.observer import Observer, override
from torch_doctor.static.state import per_path
from torch_doctor.static.tables import words
from torch_doctor.static.values import Making, Tensor, Unknown, Value
from torch_doctor.trace import SamplesChosen

if TYPE_CHECKING:
    from collections.abc import MutableMapping

    from torch_doctor.static import program as p
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Call

Item: TypeAlias = "Making | Value"
"""What an item of a batch is known again by: how it was made, else itself."""

_CHOOSING: Final = frozenset(words("[] * where masked_select masked_fill mul multiply dot matmul index_select"))
_FAR: Final = 8


class Selecting(Observer, made=lambda name: name.rpartition(".")[2] in _CHOOSING, operated=("*", "@")):
    """Follows items of a batch into what is computed from a model's output, besides the targets."""

    writes = (SamplesChosen,)

    _targets: MutableMapping[Item, Value] = per_path(dict)
    _choosing: MutableMapping[Item, Value] = per_path(dict)

    @override
    def made(self, run: Run, name: str, call: Call, result: Value) -> None:
        """An index, a product or a choice."""
        made = result.meta if isinstance(result, Tensor) else None
        self._meet(made.args if isinstance(made, Making) else tuple(call.args))

    @override
    def operated(self, run: Run, op: str, operands: tuple[Value, ...], result: Value, node: p.Node) -> None:
        """A product."""
        self._meet(operands)

    @override
    def lossed(self, run: Run, values: tuple[Value, ...], node: p.Node) -> None:
        """A loss gets its targets."""
        for value in values[1:2]:
            if (item := _item(value)) is not None:
                self._targets[item] = value

    @override
    def backward(self, run: Run, loss: Value, call: Call) -> None:
        """Gradients are computed: of samples that an item chooses, besides what the loss is about."""
        if self._choosing.keys() - self._targets.keys() and len(self._choosing.keys() | self._targets.keys()) > 1:
            run.emit(SamplesChosen, call.node)
        self._choosing.clear()
        self._targets.clear()

    def _meet(self, values: tuple[Value, ...]) -> None:
        """Something is computed from several values."""
        items = [item for value in values if (item := _item(value)) is not None]
        computed = any(isinstance(value, (Tensor, Unknown)) and value.flow.forwards for value in values)
        if computed or len(set(items)) > 1:
            for item in items:
                self._choosing[item] = values[0]


def _item(value: Value | None) -> Item | None:
    """The item of a batch that a value is, or is made from without another tensor."""
    for _ in range(_FAR):
        if not isinstance(value, (Tensor, Unknown)) or value.flow.forwards:
            return None
        made = value.meta if isinstance(value, Tensor) else None
        if not isinstance(made, Making):
            return value if value.origin.how == "batch" else None
        if made.name == "batch":
            return made
        value = made.args[0] if made.args else None
    return None
