"""What `torch.compile(..., fullgraph=True)` compiles whole: its Python objects, such as a context, are gone when it runs."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from torch_doctor.static import program as p
from torch_doctor.static.knowledge import Knowledge
from torch_doctor.static.library import Stage, library
from torch_doctor.static.state import per_run
from torch_doctor.static.values import Bound, FunctionValue, Module

if TYPE_CHECKING:
    from torch_doctor.static.run import Run
    from torch_doctor.static.unit import Unit
    from torch_doctor.static.values import Call

_ASKED = "fullgraph"


class Whole(Knowledge):
    """The functions and modules that are compiled whole."""

    functions: set[p.Function] = per_run(set)
    modules: set[int] = per_run(set)

    def again(self) -> Whole:
        """What the top level has compiled stays so."""
        return self.copied()


@library("torch.compile", stage=Stage.NOTE)
def compiled(run: Run, _: str, call: Call) -> None:
    """Something is compiled, perhaps whole."""
    what = call.argument(0, "model")
    if call.flag(_ASKED, default=False) is not True:
        return
    if isinstance(what, Module):
        run.of(Whole).modules.add(what.id)
    elif isinstance(what, (Bound, FunctionValue)):
        run.of(Whole).functions.add((what.function if isinstance(what, Bound) else what).node)


def is_within(run: Run, node: p.Node) -> bool:
    """Whether a function that is named at a node is called inside of what is compiled whole, or may be so from there on."""
    known = run.of(Whole)
    if any(each.id in known.modules for each in run.modules_called):
        return True
    if any(each.node in known.functions or _is_decorated(each.node) for each in run.stack):
        return True
    return id(node) not in _callees(run.frame.unit) and _ASKED in run.frame.unit.source.text


def _is_decorated(function: p.Function) -> bool:
    return any(
        isinstance(each, p.Call)
        and any(name == _ASKED and isinstance(value, p.Const) and value.value is True for name, value in each.keywords)
        for each in function.decorators
    )


@lru_cache(maxsize=64)
def _callees(unit: Unit) -> frozenset[int]:
    """The ids of what is called at once, and gets no other name before."""
    return frozenset(id(each.func) for each in unit.nodes if isinstance(each, p.Call))
