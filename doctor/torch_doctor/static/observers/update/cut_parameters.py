"""Parameters that come to the loss without their graph, and in no other way."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from torch_doctor.static.domains import constants
from torch_doctor.static.observer import Observer, override
from torch_doctor.static.state import per_run
from torch_doctor.static.training.module import module_parts
from torch_doctor.static.values import Fact, Module, ParameterValue, Params, Value
from torch_doctor.trace import ParameterCut

if TYPE_CHECKING:
    from torch_doctor.static import program as p
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Call


BY_NAME = frozenset({"named_parameters", "get_parameter"})


class CutParameters(Observer, read=(Module,)):
    """Tells how often parameters are taken from their modules, how often their graph ends at once, and what else uses them."""

    writes = (ParameterCut,)

    _read: Counter[int] = per_run(Counter)
    _names: dict[int, str] = per_run(dict)
    _cut: Counter[int] = per_run(Counter)
    _used: set[int] = per_run(set)
    _alone: list[ParameterCut] = per_run(list)

    @override
    def read(self, run: Run, value: Value, name: str, __: p.Node) -> None:
        """A parameter is taken from its module, or all of them by their names, which may be taken for anything."""
        if isinstance(value, Module) and name in BY_NAME:
            self._used |= module_parts.parts_of(run, value).owners
        if isinstance(value, Module) and isinstance(part := value.fields.get(name), ParameterValue):
            self._read[part.id] += 1
            self._names[part.id] = f"{value.class_name}.{name}"

    @override
    def made(self, run: Run, name: str, call: Call, result: Value) -> None:
        """Its graph ends, or something else is made of it than another function of it alone."""
        for value in call.values:
            if isinstance(value, Params):
                self._used |= value.modules & result.flow.modules
            taken = constants.computed_of(run, value)
            if taken is not None and name in ("detach", "item"):
                self._cut[taken.id] += 1
            elif taken is not None and (len(call.values) > 1 or constants.computed_of(run, result) is not taken):
                self._used.add(taken.id)

    @override
    def computed(self, _: Run, __: str, operands: tuple[Value, ...], ___: p.Node) -> None:
        """It is computed with, or what was computed of it is, outside of any module's call."""
        for operand in operands:
            if isinstance(operand, Params):
                self._used |= frozenset() if operand.cut else operand.modules
            elif not operand.flow.forwards:
                self._used |= operand.flow.modules

    @override
    def left(self, _: Run, __: Module, ___: Call, result: Value) -> None:
        """What a module computed has it in its graph."""
        self._used |= result.flow.modules

    @override
    def backward(self, run: Run, loss: Value, call: Call) -> None:
        """A loss goes backward: say of what was cut off that this was all, or no longer."""
        for event in [each for each in self._alone if not self._is_all(run, each)]:
            self._alone.remove(event)
            run.trace.replace(event, alone=False)
        for cut in [each for each in run.trace.of(ParameterCut) if each.index in loss.flow.cuts]:
            if not cut.alone and self._is_all(run, cut):
                name, site = self._names[cut.parameter], run.site(call.node)
                self._alone.append(run.trace.replace(cut, alone=True, attribute=name, backward=site))

    def _is_all(self, run: Run, event: ParameterCut) -> bool:
        """Whether each time that the parameter was taken its graph ended at once, and it may want gradients."""
        number = event.parameter
        thing = run.objects.get(number)
        often = self._read[number]
        trains = thing is not None and thing.fact(Fact.FROZEN) is False and not thing.fact(Fact.MAY_BE_FROZEN)
        return trains and 0 < often == self._cut[number] and number not in self._used
