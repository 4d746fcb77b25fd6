"""Numbers of NumPy that a checkpoint holds: unlike Python's, they are read only without limits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from torch_doctor.static.observer import Named, Observer, override
from torch_doctor.static.state import per_run
from torch_doctor.static.tables import training
from torch_doctor.static.tables.canonical import canonical
from torch_doctor.static.values import Lib, Mapping, Method, Value, leaves
from torch_doctor.trace import Saved

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Call, Symbol

_LIBRARIES: Final = ("numpy.", "pandas.", "scipy.", "sklearn.metrics.")
_PLAIN: Final = frozenset(f"builtins.{name}" for name in ("bool", "float", "int", "str"))


def _makes_or_saves(name: str) -> bool:
    name = canonical(name)
    return name in training.SAVES or name in _PLAIN or name.startswith(_LIBRARIES)


class SavedNumbers(Observer, called=(Named(Lib, _makes_or_saves), Named(Method, ("numpy",)))):
    """Under which keys a checkpoint holds what NumPy computed."""

    writes = (Saved,)

    _computed: set[Symbol] = per_run(set)
    _plain: dict[int, Value] = per_run(dict)  # what `float` and its like made, by their id

    @override
    def called(self, run: Run, func: Value, call: Call, result: Value) -> None:
        """NumPy computes something, or a checkpoint is written."""
        name = canonical(func.name) if isinstance(func, Lib) else ""
        if name in training.SAVES:
            value = call.argument(training.SAVES[name], "obj")
            site = run.site(call.node)
            event = next((event for event in reversed(run.trace.of(Saved)) if event.site == site), None)
            if event is not None and value is not None and (numbers := tuple(self._numbers(value))):
                run.trace.replace(event, numbers=numbers)
        elif name in _PLAIN:
            self._plain[id(result)] = result
        else:
            symbol = getattr(result, "symbol", None)
            if symbol is not None:
                self._computed.add(symbol)

    def _numbers(self, value: Value, key: str = "") -> Iterator[str]:
        """The keys of what NumPy computed, itself or by arithmetic with it."""
        if isinstance(value, Mapping):
            for name, item in value.fields.items():
                if isinstance(name, tuple) and isinstance(item, Value):
                    yield from self._numbers(item, str(name[1]))
        elif any(
            id(each) not in self._plain and self._is_computed(getattr(each, "symbol", None)) for each in leaves(value)
        ):
            yield key

    def _is_computed(self, symbol: object) -> bool:
        waiting = [symbol]
        while waiting:
            each = waiting.pop()
            if isinstance(each, tuple):
                if each in self._computed:
                    return True
                waiting += each
        return False
