"""Tensors that a module normalises by what it computes over all rows, before a loss against the batch's labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from torch_doctor.static.observer import Observer, override
from torch_doctor.static.observers.module.mixed_rows import loader_of, rows_first
from torch_doctor.static.state import per_run
from torch_doctor.static.training.module import written_forwards
from torch_doctor.static.values import Const, Either, Fact, Making, Module, Tensor, Unknown, constant
from torch_doctor.trace import RowsMixed, Source

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from torch_doctor.static import program as p
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Call, Value
    from torch_doctor.static.values.shapes import Shape
    from torch_doctor.trace import Site

STATISTICS: Final = {"mean": 1, "sum": 1, "std": 1, "var": 1, "amax": 1, "amin": 1, "norm": 2}
"""What is computed over dimensions, and the place of these among the arguments."""
_PASSED_ON: Final = frozenset(("+", "sqrt", "clamp", "clamp_min", "unsqueeze", "detach", "abs", "expand", "expand_as"))
"""What makes another statistic of one."""
_STEPS: Final = 200
"""How far back the making of a tensor is followed."""


class _Norm(NamedTuple):
    """Where a tensor was normalised, in which module, and by which loader's rows."""

    made: Making
    module: Module
    site: Site
    text: str
    shape: Shape
    loader: int


class NormsOverRows(Observer, operated=("-", "/"), made=("torch.nn.functional.normalize",)):
    """Watches what is taken from, or divides, the rows of a batch, and what losses get of it."""

    writes = (RowsMixed,)

    _norms: dict[int, _Norm] = per_run(dict)
    _returned: dict[int, list[_Norm]] = per_run(
        dict
    )  # of which the results of models were made, by the models' numbers

    @override
    def operated(self, run: Run, _: str, operands: tuple[Value, ...], result: Value, node: p.Node) -> None:
        """An operator was applied."""
        if len(operands) > 1 and _is_statistic(operands[1]):
            self._normed(run, operands[0], result, node)

    @override
    def made(self, run: Run, _: str, call: Call, result: Value) -> None:
        """Something was made of a tensor."""
        if constant(call.argument(2, "dim") or Const(1)) == 0:
            self._normed(run, call.args[0], result, call.node)

    @override
    def left(self, run: Run, module: Module, _: Call, result: Value) -> None:
        """A module was called: what it returns has the norms behind it."""
        if self._norms and not run.modules_called:
            norms = [self._norms[id(made)] for made in _makings(result) if id(made) in self._norms]
            self._returned[module.id] = [each for each in norms if not _keeps_statistics(each.module)]

    @override
    def lossed(self, run: Run, values: Sequence[Value], _: p.Node) -> None:
        """A loss compares rows with what came with them: then they have nothing to do with each other."""
        target = values[1] if len(values) > 1 else None
        if not self._returned or target is None or target.flow.source is not Source.LOADER:
            return
        for forward in written_forwards.numbered(run, values[0].flow.forwards):
            for norm in self._returned.pop(forward.module, ()):
                run.emit(RowsMixed, norm.site, how="norm", name=norm.text, loader=norm.loader, shape=norm.shape)

    def _normed(self, run: Run, given: Value, result: Value, node: p.Node) -> None:
        shape = rows_first(given)
        made = result.meta if isinstance(result, Tensor) else None
        module = run.modules_called[-1] if run.modules_called else None
        if shape is None or module is None or not isinstance(made, Making) or not isinstance(given, Tensor):
            return
        self._norms.pop(id(given.meta), None)  # one is enough: what is taken away first is divided next
        self._norms[id(made)] = _Norm(made, module, run.site(node), run.text(node), shape, loader_of(given))


def _is_statistic(value: Value, depth: int = 0) -> bool:
    """Whether something was computed over all rows of a batch."""
    made = value.meta if isinstance(value, Tensor) else None
    if not isinstance(made, Making) or depth > len(_PASSED_ON):
        return False
    position = STATISTICS.get(made.name)
    if position is not None and made.args and rows_first(made.args[0]) is not None:
        over = made.keywords.get("dim", made.args[position] if position < len(made.args) else None)
        return isinstance(over, Const) and over.value == 0
    return made.name in _PASSED_ON and any(_is_statistic(each, depth + 1) for each in made.args)


def _makings(value: Value) -> Iterator[Making]:
    """How a tensor was made, and what it was made of."""
    waiting, seen = [value], set[int]()
    while waiting and len(seen) < _STEPS:
        made = getattr(waiting.pop(), "meta", None)
        if isinstance(made, Making) and id(made) not in seen:
            seen.add(id(made))
            yield made
            waiting += made.args


def _keeps_statistics(module: Module) -> bool:
    """Whether a module has something else to normalise by in evaluation, as batch norm has."""
    kept = any(isinstance(each, (Tensor, Either, Unknown)) for each in module.fields.values())
    return kept or module.fact(Fact.READS_MODE) is not False
