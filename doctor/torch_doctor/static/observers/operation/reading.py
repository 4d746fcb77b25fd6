"""Numbers of tensors that Python reads within loops: who reads those of a tensor on a GPU waits for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.observer import Named, Observer, override
from torch_doctor.static.values import Call, Either, Lib, Method, Tensor, UnknownAttribute
from torch_doctor.trace import ValueRead

if TYPE_CHECKING:
    from torch_doctor.static import program as p
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Args, Value

METHODS = frozenset(("item", "tolist", "cpu"))
"""Methods of a tensor that copy its numbers from the GPU; `numpy` refuses to."""
FUNCTIONS = frozenset(f"builtins.{name}" for name in ("float", "int", "print", "str"))
FORMATTED = "format"
_NAMES = METHODS | {FORMATTED}


class Reading(
    Observer,
    called=(Named(Method, _NAMES), Named(UnknownAttribute, _NAMES), Named(Lib, FUNCTIONS)),
):
    """Reads of numbers of tensors that a forward computed, within loops."""

    writes = (ValueRead,)

    @override
    def called(self, run: Run, func: Value, call: Call, _: Value) -> None:
        """Write that a call reads such a tensor."""
        if not run.loop_depth:
            return
        if isinstance(func, (Method, UnknownAttribute)):
            if func.name in METHODS and (isinstance(func, UnknownAttribute) or _is_tensor(func.of)):
                _tell(run, func.of, func.name, call.node)
            else:
                _first(run, call.args, FORMATTED, call.node)
        elif isinstance(func, Lib):
            _first(run, call.args, func.name.rpartition(".")[2], call.node)

    @override
    def shown(self, run: Run, values: tuple[Value, ...], node: p.Node) -> None:
        """Write that text is made of such a tensor."""
        if run.loop_depth:
            _first(run, values, FORMATTED, node)


def _first(run: Run, values: Args, how: str, node: p.Node) -> None:
    read = next((value for value in values if _is_tensor(value) and value.flow.forwards), None)
    if read is not None:
        _tell(run, read, how, node)


def _is_tensor(value: Value) -> bool:
    if isinstance(value, Either):
        return all(isinstance(option, Tensor) for _, option in value.options)
    return isinstance(value, Tensor)


def _tell(run: Run, value: Value, how: str, node: p.Node) -> None:
    if value.flow.forwards:
        run.emit(ValueRead, node, name=run.text(node), how=how, value=run.fact(value))
