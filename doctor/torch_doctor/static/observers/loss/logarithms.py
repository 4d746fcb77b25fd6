"""Logarithms: what they are taken of, and whether that can be 0."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static import program as p
from torch_doctor.static.domains.limits import Bounds
from torch_doctor.static.language import operators
from torch_doctor.static.observer import Observer, override
from torch_doctor.static.tables.functions import LOGS
from torch_doctor.static.training.kinds import leading
from torch_doctor.trace import LogTaken

if TYPE_CHECKING:
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Call, Value


class Logarithms(Observer, made=lambda name: name.rpartition(".")[2] in LOGS):
    """Asks for the limits of what logarithms are taken of."""

    writes = (LogTaken,)

    @override
    def made(self, run: Run, name: str, call: Call, result: Value) -> None:
        """A function or method was called."""
        value = call.argument(0, "input")
        given = None if value is None else leading(value)
        if given is None:
            return
        zero = run.ask(Bounds, given).reached(0.0)
        fact = run.fact(given.with_flow(operators.recorded(run, given.flow)), _argument(run, call.node))
        short = name.rpartition(".")[2]
        why, maker = ("", "") if zero is None else (zero.why, zero.made.name)
        run.emit(LogTaken, call.node, function=f"torch.{short}", input=fact, zero=why, maker=maker)


def _argument(run: Run, node: p.Node) -> str:
    """The text of what a function gets first, or whose method it is."""
    if isinstance(node, p.Call) and not node.args and isinstance(node.func, p.Attribute):
        return run.text(node.func.value)
    return run.text_of_argument(node, 0)
