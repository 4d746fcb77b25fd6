"""The axes of what variables, attributes and parameters get, in the script's own names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from torch_doctor.static.domains.axes import Sizes
from torch_doctor.static.measuring import measured
from torch_doctor.static.observer import Observer, override
from torch_doctor.static.state import per_run
from torch_doctor.static.values import Const, Either, ParameterValue, Tensor, shapes
from torch_doctor.trace import Shaped
from torch_doctor.trace.amounts import Amount, amount

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

    from torch_doctor.static import program as p
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import FunctionValue, Value

_NUMBERED: Final = "s"
"""Begins the names of sizes that the script does not name, as torch numbers those that it does not know."""
_UNKNOWN: Final = "?"


class Shapes(Observer):
    """Says of each variable, attribute and parameter that gets a tensor which axes that has."""

    writes = (Shaped,)
    asked_for = True

    _spelled: dict[Hashable, str] = per_run(dict)  # what the script calls a size, or which number it has here
    _numbered: dict[Hashable, str] = per_run(dict)

    @override
    def bound(self, run: Run, target: p.Name, value: Value) -> None:
        """A variable gets a tensor, or a size, which has this name from now on."""
        self._named(run, target.id, value)
        self._told(run, target, target.id, value)

    @override
    def given(self, run: Run, function: FunctionValue, parameters: Mapping[object, Value]) -> None:
        """A function has its arguments."""
        for each in function.node.parameters:
            if (value := parameters.get(each.name)) is not None:
                self._named(run, each.name, value)
                self._told(run, each, each.name, value)

    @override
    def attribute_set(self, run: Run, holder: Value, target: p.Attribute, value: Value, node: p.Node) -> None:
        """An attribute gets a tensor, or a size."""
        self._named(run, target.name, value)
        self._told(run, target, run.text(target), value)

    def _named(self, run: Run, name: str, value: Value) -> None:
        """A size that nobody has named before is called so."""
        size = None if isinstance(value, (Const, Tensor)) else run.of(Sizes).amount_of(value)
        if size is not None and size.names and size == amount(only := next(iter(size.names))[0]):
            self._spelled.setdefault(only, name)

    def _told(self, run: Run, at: Any, name: str, value: Value) -> None:
        if not all(isinstance(each, (Tensor, ParameterValue)) for each in _options(value)):
            return
        sizes, known = run.ask(Sizes, value), measured(value)
        if sizes is not None:
            axes = tuple(_UNKNOWN if size is None else self._text(size) for size in sizes)
        elif known.shape is not None:
            axes = tuple(_UNKNOWN if size is None else str(size) for size in known.shape)
        else:
            return
        run.emit(Shaped, run.position.frame.unit.site(at.at), name=name, axes=axes, dtype=known.dtype)

    def _text(self, size: Amount) -> str:
        """A size as a product of the script's names."""
        above = [self._factor(name, power) for name, power in size.names if power > 0]
        below = [self._factor(name, -power) for name, power in size.names if power < 0]
        over = " * ".join([*([str(size.number)] if size.number != 1 or not above else []), *sorted(above)])
        under = [*([str(size.divisor)] if size.divisor != 1 else []), *sorted(below)]
        return " // ".join((over, *under))

    def _factor(self, name: Hashable, power: int) -> str:
        return f"{self._word(name)}{f' ** {power}' if power != 1 else ''}"

    def _word(self, name: Hashable) -> str:
        """What the script calls a size: a variable or a setting; else a number."""
        if name == shapes.BATCH:
            return shapes.BATCH
        if name in self._spelled:
            return self._spelled[name]
        if isinstance(name, tuple) and name[:1] == (".",) and isinstance(name[-1], str):
            return name[-1]
        return self._numbered.setdefault(name, f"{_NUMBERED}{len(self._numbered)}")


def _options(value: Value) -> list[Value]:
    """What a value may be, by the path."""
    return [option for _, option in value.options] if isinstance(value, Either) else [value]
