"""Batch norm of averaged weights: whose statistics it has when the average is evaluated."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from torch_doctor.static.domains import blending
from torch_doctor.static.domains.blending import Blend, Blended
from torch_doctor.static.observer import Named, Observer, override
from torch_doctor.static.observers.update.averaging import in_state
from torch_doctor.static.tables import layers
from torch_doctor.static.training.checkpoint import snapshots
from torch_doctor.static.training.evaluation import modes
from torch_doctor.static.training.module import module_parts, written_forwards
from torch_doctor.static.training.update import parameters
from torch_doctor.static.values import Const, Fact, Lib, Module, ParameterValue, Params, Value
from torch_doctor.trace import AveragedNormsRan

if TYPE_CHECKING:
    from collections.abc import Iterable

    from torch_doctor.static import program as p
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Call

_UPDATE_BN: Final = "torch.optim.swa_utils.update_bn"
_AVERAGED: Final = "torch.optim.swa_utils.AveragedModel"
_EQUAL: Final = frozenset(("torch.optim.swa_utils.get_swa_avg_fn", "torch.optim.swa_utils.get_swa_multi_avg_fn"))
_STATISTICS: Final = frozenset(("buffers", "named_buffers", "running_mean", "running_var", "reset_running_stats"))
"""What the script may renew or copy statistics by."""
_NORMS: Final = layers.BATCH_NORMS
_SETS: Final = frozenset(("copy_", "__set__", "lerp_", "add_", "sub_", "__iadd__"))
_IN_PLACE: Final = frozenset(("copy_", "lerp_", "add_", "mul_"))


class AveragedNorms(
    Observer,
    called=(Named(Lib, (_AVERAGED, _UPDATE_BN)),),
    made=_IN_PLACE,
    read=(Named(Module, _STATISTICS),),
):
    """Evaluations of averaged weights with batch norm that has gathered no statistics since."""

    writes = (AveragedNormsRan,)

    # --- averages ---

    @override
    def called(self, run: Run, func: Value, call: Call, result: Value) -> None:
        """An averaged copy of a model is created, or its statistics are gathered anew."""
        if func.name == _UPDATE_BN:  # type: ignore[attr-defined]  # what it is for
            _renew(run, (each for each in call.values if isinstance(each, Module)))
        elif isinstance(result, Module):
            functions = [call.argument(2, "avg_fn"), call.argument(3, "multi_avg_fn")]
            buffers = call.argument(4, "use_buffers")
            plain = buffers is None or (isinstance(buffers, Const) and not buffers.value)
            equal = all(each is None or (isinstance(each, Const) and each.value is None) for each in functions)
            run.heap.set(result.facts, Fact.AVERAGES_EQUALLY, value=plain and equal and "**" not in call.keywords)

    @override
    def changed(self, run: Run, value: Value, call: Call) -> None:
        """Weights change in place."""
        if isinstance(value, Module):
            self._changed_module(run, value, call)
        elif isinstance(value, (Params, ParameterValue)):
            own = value.modules if isinstance(value, Params) else frozenset((value.id,))
            found = run.ask(Blended, call.values[0]) if call.method in _SETS and call.values else None
            if found is not None and found.of - own and call.method not in ("copy_", "__set__"):
                _mark(run, own, Blend(found.of - own, averaged=True), call)
            elif call.method in ("copy_", "__set__"):
                _mark(run, own, found, call)

    def _changed_module(self, run: Run, module: Module, call: Call) -> None:
        if call.method == "update_parameters" and module.fact(Fact.AVERAGED):
            of, _ = parameters.parameters_in(run, call.values)
            if module.fact(Fact.AVERAGES_EQUALLY):
                own = frozenset(part.id for part in module_parts.parts_of(run, module).parts)
                _mark(run, own, Blend(of, averaged=True), call, equal=True)
            return
        state = call.argument(0, "state_dict")
        found = in_state(run, state) if state is not None else None
        if state is None or found is None or found.stats or snapshots.states_in(run, state).taken:
            _renew(run, (module,))
        else:
            _mark(run, frozenset(part.id for part in module_parts.parts_of(run, module).parts), found, call)

    # --- statistics ---

    @override
    def read(self, run: Run, value: Value, name: str, node: p.Node) -> None:
        """The script may renew the statistics by hand."""
        if isinstance(value, Module):
            _renew(run, (value,))

    @override
    def made(self, run: Run, name: str, call: Call, result: Value) -> None:
        """The tensors of a state dict, which has the statistics, change in place."""
        made = blending.root(call.args[0]) if call.args else None
        if made is not None and made.name == blending.STATE and isinstance(made.args[0], Module):
            _renew(run, (made.args[0],))

    @override
    def entered(self, run: Run, module: Module, call: Call) -> None:
        """A whole module is called."""
        if run.modules_called:
            return
        inside = module_parts.parts_of(run, module)
        norms = [part for part in inside.parts if part.layer in _NORMS and part.cls is None]
        if not norms:
            return
        evaluates = all(modes.own_mode(run, part).training is False for part in norms)
        if not evaluates:
            for part in norms:
                run.heap.set(part.facts, Fact.GATHERED, value=True)
                run.heap.set(part.facts, Fact.RENEWED_SINCE, value=True)
            return
        event = written_forwards.last(run)
        stale = [part.fact(Fact.AVERAGED_AT) for part in norms if _gathers(part) and not part.fact(Fact.RENEWED_SINCE)]
        if event is None or event.module != module.id or not stale or None in stale or inside.opaque:
            return
        site, of, equal = stale[0]
        initial = all(not part.fact(Fact.GATHERED) and part.fact(Fact.WRITTEN) is not None for part in norms)
        fields = {"forward": event.index, "module": module.id, "of": of, "since": site, "norms": len(stale)}
        run.emit(AveragedNormsRan, call.node, **fields, initial=initial, equal=equal)


def _mark(run: Run, own: frozenset[int], found: Blend | None, call: Call, *, equal: bool = False) -> None:
    """Note that these have averaged weights from here on, or other ones."""
    averaged = found is not None and found.averaged
    for number in own:
        thing = run.objects.get(number)
        if isinstance(thing, Module) and thing.layer in _NORMS:
            known = (run.site(call.node), found.of - own or found.of, equal) if found is not None and averaged else None
            run.heap.set(thing.facts, Fact.AVERAGED_AT, known)
            if averaged:
                run.heap.set(thing.facts, Fact.RENEWED_SINCE, value=False)
            if equal:  # each update copies the buffers
                run.heap.set(thing.facts, Fact.GATHERED, value=True)


def _renew(run: Run, modules: Iterable[Module]) -> None:
    """Note that nobody knows the statistics of these any more."""
    for module in modules:
        for part in module_parts.parts_of(run, module).parts:
            if part.layer in _NORMS:
                run.heap.set(part.facts, Fact.RENEWED_SINCE, value=True)
                run.heap.set(part.facts, Fact.GATHERED, value=True)


def _gathers(part: Module) -> bool:
    """Whether batch norm has running statistics, which nothing but batches sets."""
    tracked = part.settings.get("track_running_stats", part.given[4] if len(part.given) > 4 else None)
    changed = part.fields.keys() & {"track_running_stats", "momentum", "running_mean", "running_var"}
    return (
        "**" not in part.settings
        and not changed
        and (tracked is None or (isinstance(tracked, Const) and bool(tracked.value)))
    )
