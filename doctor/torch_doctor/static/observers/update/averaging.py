"""Averages of weights: where they are updated, and where they are written into a model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.domains import blending
from torch_doctor.static.domains.blending import Blend, Blended
from torch_doctor.static.observer import Observer, override
from torch_doctor.static.training.update import parameters
from torch_doctor.static.values import Fact, Making, Mapping, Module, ParameterValue, Params, Tensor, Value
from torch_doctor.trace import AverageGiven, WeightsAveraged

if TYPE_CHECKING:
    from torch_doctor.static import program as p
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Call

_ADDS = frozenset(("add_", "lerp_", "sub_", "__iadd__"))
_SETS = frozenset(("copy_", "__set__"))
DEEP = 2


class Averaging(Observer, made=blending.SUMS | {"sub_", "copy_"}, operated="+-"):
    """Weights that are added to an average of them, and averages that are written into modules."""

    writes = (WeightsAveraged, AverageGiven)

    # --- into tensors ---

    @override
    def made(self, run: Run, name: str, call: Call, result: Value) -> None:
        """Weights are added to a tensor, perhaps in place."""
        made = result.meta if isinstance(result, Tensor) else None
        found = run.of(Blended).read(made) if isinstance(made, Making) else None  # and not what the tensor was before
        if found is None or not found.of:
            return
        store = blending.root(call.args[0]) if name.endswith("_") and call.args else None
        if store is not None:
            run.of(Blended).stores[store] = found
        if found.averaged and name != "copy_":
            run.emit(WeightsAveraged, call.node, of=found.of)

    @override
    def operated(self, run: Run, op: str, operands: tuple[Value, ...], result: Value, node: p.Node) -> None:
        """Weights are added to an average, which gives another tensor."""
        if op not in "+-" or len(operands) != 2:
            return
        found = run.ask(Blended, result)
        if found is None or not found.averaged:
            return
        terms = [run.ask(Blended, each) for each in operands]
        if op == "+" or any(each is not None and each.averaged for each in terms):
            run.emit(WeightsAveraged, node, of=found.of)

    # --- into modules ---

    @override
    def changed(self, run: Run, value: Value, call: Call) -> None:
        """Weights of a module change in place."""
        if isinstance(value, Module):
            self._loaded(run, value, call)
        elif isinstance(value, (Params, ParameterValue)) and call.values:
            own = value.modules if isinstance(value, Params) else frozenset((value.id,))
            if call.method in _ADDS:
                self._added(run, own, run.ask(Blended, call.args[0] if call.args else call.values[0]), call)
            elif call.method in _SETS:
                found = run.ask(Blended, call.values[0])
                if found is not None and found.averaged and found.of - own:
                    self._added(run, own, found, call) if own & found.of else self._given(run, own, found, call)
                elif found is not None and found.averaged:
                    self._given(run, own, found, call)

    def _added(self, run: Run, own: frozenset[int], found: Blend | None, call: Call) -> None:
        """Weights of others are added to those of a module."""
        others = found.of - own if found is not None else frozenset[int]()
        if found is None or not others:
            return
        for number in own:
            run.of(Blended).into[number] = Blend(others, averaged=True)
        run.emit(WeightsAveraged, call.node, of=others, into=own)

    def _given(self, run: Run, own: frozenset[int], found: Blend, call: Call) -> None:
        run.emit(AverageGiven, call.node, modules=own, of=found.of, name=call.receiver)

    def _loaded(self, run: Run, module: Module, call: Call) -> None:
        """An `AveragedModel` takes up the weights of a model, or a state is loaded."""
        own, _ = parameters.parameters_in(run, (module,))
        if call.method == "update_parameters" and module.fact(Fact.AVERAGED):
            of, _ = parameters.parameters_in(run, call.values)
            for number in own | {module.id}:
                run.of(Blended).into[number] = Blend(of, averaged=True)
            run.emit(WeightsAveraged, call.node, of=of, into=own)
        state = call.argument(0, "state_dict")
        if state is not None and call.method == "load_state_dict":
            found = in_state(run, state)
            if found is not None and found.averaged:
                self._given(run, own, found, call)


def in_state(run: Run, state: Value, depth: int = DEEP) -> Blend | None:
    """The weights in all tensors of a state dict."""
    if isinstance(state, Mapping):
        items = [each for each in state.fields.values() if isinstance(each, Value)]
        found = [in_state(run, each, depth - 1) for each in items] if depth else []
        return run.of(Blended).joined(found)
    return run.ask(Blended, state) if isinstance(state, Tensor) else None
