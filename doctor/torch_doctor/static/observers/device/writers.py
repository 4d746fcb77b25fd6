"""What log writers get."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.observer import Named, Observer, override
from torch_doctor.static.values import Method, Tool
from torch_doctor.trace import WriterUsed

if TYPE_CHECKING:
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Call, Value


def _adds(name: str) -> bool:
    """Whether the method of a writer logs something, by its name."""
    return name.startswith("add_")


class Writers(Observer, invoked=(Named(Method, _adds),)):
    """Calls that give a log writer something to log."""

    writes = (WriterUsed,)

    @override
    def invoked(self, run: Run, func: Value, call: Call) -> None:
        """A method with such a name is called."""
        if isinstance(func, Method) and isinstance(func.of, Tool) and func.of.name.endswith(".SummaryWriter"):
            run.emit(WriterUsed, call.node, writer=func.of.id, name=call.name)
