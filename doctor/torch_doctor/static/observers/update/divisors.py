"""Losses that are divided by how many passes there were so far."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from torch_doctor.static.domains.accounts import formulas
from torch_doctor.static.domains.constants import VIEWS
from torch_doctor.static.observer import Observer, override
from torch_doctor.static.state import per_run
from torch_doctor.static.values import Making, Plain, Tensor, symbol_of
from torch_doctor.trace import LossDivided

if TYPE_CHECKING:
    from torch_doctor.static import program as p
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Call, Value
    from torch_doctor.trace import Formula, Site

_KEEPING: Final = VIEWS | {"+", "*", "/"}
"""Operations whose result a divisor still divides, if it divides their first operand."""
_DIVIDING: Final = frozenset(("div", "div_", "true_divide"))


class Divisors(Observer, operated="/", made=_DIVIDING):
    """Quotients with a running count as divisor, and the backward passes of what they are part of."""

    writes = (LossDivided,)
    known: dict[Making, tuple[Site, Formula]] = per_run(dict)

    @override
    def operated(self, run: Run, op: str, operands: tuple[Value, ...], result: Value, node: p.Node) -> None:
        """Note a quotient."""
        self._note(run, operands, result, node)

    @override
    def made(self, run: Run, name: str, call: Call, result: Value) -> None:
        """Note a quotient of a method or function."""
        self._note(run, call.args, result, call.node)

    @override
    def backward(self, run: Run, loss: Value, call: Call) -> None:
        """Write by which count a loss was divided."""
        made = loss.meta if isinstance(loss, Tensor) else None
        while isinstance(made, Making):
            if (found := self.known.get(made)) is not None:
                run.emit(LossDivided, call.node, divided_at=found[0], count=found[1])
                return
            first = made.args[0] if made.name in _KEEPING and made.args else None
            made = first.meta if isinstance(first, Tensor) else None

    def _note(self, run: Run, operands: tuple[Value, ...], result: Value, node: p.Node) -> None:
        made = result.meta if isinstance(result, Tensor) else None
        if isinstance(made, Making) and len(operands) > 1 and isinstance(operands[1], Plain):
            count = formulas.count(run, symbol_of(operands[1]))
            if count is not None:
                self.known[made] = run.site(node), count
