"""Constructs torch's loss modules, also where the constructor gets what the call should."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.flow import blend
from torch_doctor.static.language import operators
from torch_doctor.static.library import library_family
from torch_doctor.static.tables import functions, losses
from torch_doctor.static.tables.methods import MODULE_METHODS
from torch_doctor.static.training.module import module_building
from torch_doctor.static.training.reductions import stated
from torch_doctor.static.values import (
    NOWHERE,
    Call,
    Const,
    Either,
    Fact,
    Module,
    Plain,
    Spread,
    Tensor,
    Unknown,
    Value,
)
from torch_doctor.trace import Kind, LossBuilt, Source

if TYPE_CHECKING:
    from torch_doctor.static import program as p
    from torch_doctor.static.run import Run

_BATCH = (Source.LOADER, Source.DATA)


@library_family(losses.CLASSES)
def build_loss(run: Run, name: str, call: Call) -> Value:
    """Construct a loss; one that is given a batch returns what was meant, the loss of that batch."""
    takes = losses.CONSTRUCTORS.get(name)
    settings = [
        (value, run.text_of_argument(call.node, place))
        for place, value in enumerate(call.args)
        if takes is None or place not in takes
    ]
    weights = [value for place, value in enumerate(call.args) if takes is not None and place in takes]
    called = {losses.LOSSES[name].input_name, losses.LOSSES[name].target_name, "input", "target"}
    settings += [(value, key) for key, value in call.keywords.items() if key in called]
    given = [(value, text) for value, text in settings if _of_batch(value)]
    doubtful = [value for value, _ in settings if isinstance(value, (Unknown, Tensor, Either)) and not _of_batch(value)]
    if doubtful and not given and any(map(_of_batch, weights)):
        given = [(value, "") for value in weights if _of_batch(value)]  # beside what a model computed stands no flag
    event: LossBuilt = run.emit(
        LossBuilt,
        call.node,
        loss=name,
        name=call.name,
        given=tuple(run.fact(value, text) for value, text in given),
        doubtful=len(doubtful),
        reduction=stated(name, call.args, call.keywords),
    )
    if given:
        flow = operators.recorded(run, blend(value.flow for value in call.values))
        return Tensor(flow, Kind.LOSS, NOWHERE.by(name, run.site(call.node)), scalar=True)
    module = module_building.build_layer(run, name, call)
    if doubtful and not any(isinstance(value, Spread) for value in call.args):
        module.facts[Fact.DOUBTFUL] = event  # not logged: the module is new
    return module


def note_use(run: Run, module: Module, method: str, node: p.Node) -> None:
    """Note that a method which only the loss's value has is called on a loss whose constructor got who knows what."""
    event = module.fact(Fact.DOUBTFUL)
    known = method == "backward" or method in functions.METHODS
    if isinstance(event, LossBuilt) and known and method not in MODULE_METHODS:
        run.trace.replace(event, used_at=run.site(node))


def _of_batch(value: Value) -> bool:
    """Whether a value is for certain a tensor that a model or a loader gave."""
    if isinstance(value, Either):
        return all(_of_batch(option) for _, option in value.options)
    if isinstance(value, (Const, Plain)):
        return False
    flow = value.flow
    if isinstance(value, Tensor):
        return bool(flow.forwards or flow.modules) or flow.source in _BATCH or value.kind is not Kind.UNKNOWN
    return isinstance(value, Unknown) and (flow.source in _BATCH or (bool(flow.forwards) and flow.graph is True))
