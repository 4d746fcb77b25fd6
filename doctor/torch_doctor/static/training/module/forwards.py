"""Calls modules: project modules are followed, layers answer by their table, outputs carry their history."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static import measuring
from torch_doctor.static.flow import Flow, blend
from torch_doctor.static.language import opaque_calls
from torch_doctor.static.tables import losses
from torch_doctor.static.tables.layers import CONTAINERS
from torch_doctor.static.training import cross_device, pixels, places, plain_tensors
from torch_doctor.static.training.device import autocasting
from torch_doctor.static.training.evaluation import modes
from torch_doctor.static.training.loss import language_models, loss_computing
from torch_doctor.static.training.module import (
    chaining,
    forward_cache,
    hooks,
    layer_outputs,
    library_outputs,
    module_parts,
    written_forwards,
)
from torch_doctor.static.values import (
    NOWHERE,
    VOLATILE,
    Args,
    Bound,
    Call,
    Content,
    Distribution,
    Either,
    Fact,
    FunctionValue,
    Mapping,
    Module,
    Object,
    Optimizer,
    Origin,
    Sequence,
    Tensor,
    Unknown,
    Value,
    either,
    held,
    latest,
)
from torch_doctor.trace import Forward, Kind, TensorFact

if TYPE_CHECKING:
    from torch_doctor.static.run import Run
    from torch_doctor.trace import Tri

AROUND = 0.05  # steps of a call for each module around it: all of them are asked for their modes and places


def call_module(run: Run, module: Module, call: Call) -> Value:
    """Call a module; the outermost call is a `Forward` event."""
    if module.layer == losses.ANY and module.cls is None and held(call.values):
        return opaque_calls.opaque(run, module, call)  # what gets a model may train it
    if module.layer in losses.LOSSES and (module.cls is None or module.cls.find("forward") is None):
        return loss_computing.compute_loss(run, module.layer, call, module)
    if run.modules_called:
        return _inner(run, module, call)
    if module.cls is None and any(isinstance(value, Optimizer) for value in call.values):
        return opaque_calls.opaque(run, module, call)  # what gets an optimizer is no module
    sensitive, mode = modes.mode_of(run, module)
    trainable = module_parts.trains(run, module)
    if sensitive is False and trainable is False and not _has_frozen(run, module):
        return _called(run, module, call)
    values = call.values
    passed = blend(value.flow for value in values)
    event: Forward = run.emit(
        Forward,
        call.node,
        module=module.id,
        name=call.name or module.name,
        class_name=module.class_name,
        sensitive=sensitive,
        training=mode,
        grad=None if any(isinstance(v, Tensor) and v.origin.operation == VOLATILE for v in values) else run.grad,
        trainable=trainable,
        may_be_frozen=trainable is None and module_parts.may_be_frozen(run, module),
        inputs=written_forwards.input_fact(run, values),
        output=TensorFact(),
        given=passed.surely_forwards if run.grad is not False else frozenset(),
        autocast=autocasting.current(run),
        wrapped=bool(module.shell),
        unrecorded=_in_sight(run, module) if run.grad is False else frozenset(),
        named=module.fact(Fact.BY_NAME) and not module.layer,
        again=run.position.again is not None and run.position.again == tuple(run.scope.iterations()),
    )
    followed = Object()
    with modes.followed(run, followed):
        output = _placed(run, _called(run, module, call.renamed(event.name)), module, values)
    output = marked(run, output, event.index, passed, module, trainable)
    sensitive, mode = modes.judged(followed.fact(Fact.CARED), modes.own_mode(run, module).training)
    unseen = module.fact(Fact.CALLS_UNSEEN)
    run.trace.replace(event, sensitive=sensitive, training=mode, output=run.fact(output), unseen=unseen)
    return output


def _in_sight(run: Run, module: Module) -> frozenset[int]:
    """All that owns parameters in a module, itself included; nothing where some of it is out of sight."""
    inside = module_parts.parts_of(run, module)
    return frozenset() if inside.opaque else inside.owners


def reached(run: Run, numbers: frozenset[int]) -> frozenset[int]:
    """The modules whose forwards these events are, with all in them that owns parameters."""
    called = (event.module for event in run.trace.at(*numbers) if isinstance(event, Forward))
    return module_parts.with_parts(run, frozenset(called))


def _called(run: Run, module: Module, call: Call) -> Value:
    """Call a whole module; within, it is known where and as what it was called, and whether it moves its input itself."""
    around = {"scatters": bool(module.shell), "outer_call": (run.site(call.node), call.name)}
    with run.of(cross_device.Meetings).override(**around, outer_arguments=call.values):
        if module.cls is None and module.table is None and module.layer and module.layer not in CONTAINERS:
            cross_device.into_layer(run, module, call.argument(0), call.node)
        run.of(pixels.Pictures).read_at = None
        output = _outer(run, module, call)
        pixels.called(run, module, call.name, call.node)
    return output


def _placed(run: Run, output: Value, module: Module, given: Args) -> Value:
    """An output of which nobody knows where it is: it is where the module is."""
    if isinstance(output, (Tensor, Unknown)) and not (output.origin.known or output.origin.fresh):
        own: Origin = module.fact(Fact.ORIGIN)
        if own is NOWHERE and module.cls is None and not module.layer and given:
            own = places.of(given[0])
        if places.is_away(run, own):
            return output.at(own)
    return output


def _has_frozen(run: Run, module: Module) -> bool:
    return len(module_parts.parts_of(run, module).owners) > 1 or module_parts.has_parameters(run, module) is not False


def marked(run: Run, value: Value, index: int, inputs: Flow, module: Module, trainable: Tri) -> Value:
    """A module's output, with the forward event in its history."""
    if isinstance(value, Either):
        return either((f, marked(run, v, index, inputs, module, trainable)) for f, v in value.options)
    if isinstance(value, Sequence):
        content = value.content
        items = tuple(marked(run, item, index, inputs, module, trainable) for item in content.items)
        rest = None if content.rest is None else marked(run, content.rest, index, inputs, module, trainable)
        return run.own(Sequence(value.kind, Content(items, rest), value.born, value.function, names=value.names))
    if isinstance(value, Mapping):
        mapping: Mapping = run.own(Mapping(value.born, value.function))
        for key, item in value.fields.items():
            mapping.fields[key] = marked(run, item, index, inputs, module, trainable)
        return mapping
    if not isinstance(value, (Tensor, Unknown, Distribution)):
        return value
    bare = value if isinstance(value, Tensor) and value.flow.graph is False else None
    surely = bare is not None and bare.kind in (Kind.LABELS, Kind.NOISE)
    may_cut = bare is not None and not surely and module_parts.method_of(module, "forward") is not None
    trainable = False if surely else None if may_cut else trainable
    flow = _through(run, value.flow, index, inputs, module, trainable)
    flow = flow.part(index) if may_cut else flow  # a loss with other terms goes backward without it, too
    if isinstance(value, Tensor):
        return value.with_flow(flow).with_meta(measuring.output(value))
    if isinstance(value, Distribution):
        return run.own(Distribution(value.born, value.name, flow, value.holds, value.given))
    return language_models.same(run, value, Unknown(flow, value.holds, origin=value.origin))


def _through(run: Run, of: Flow, index: int, inputs: Flow, module: Module, trainable: Tri) -> Flow:
    """The history of what a module computed; its parameters are in it unless `trainable` is False."""
    graph = False if run.grad is False else of.graph
    if run.grad is not False and (graph is not False or trainable is not False):
        graph = run.grad if trainable is True or inputs.graph is True else None
    forwards = of.forwards | inputs.forwards | {index}
    if graph is False:
        lost = inputs.cut().lost | of.lost
        return Flow(False, forwards, source=inputs.source, loader=inputs.loader, cuts=inputs.cuts | of.cuts, lost=lost)
    inside = module_parts.parts_of(run, module).owners - (run.state.fact(Fact.RENEWED) - of.modules)
    own = frozenset(number for number in inside if not _is_frozen(run, number))
    return Flow(
        graph,
        forwards,
        inputs.graph_forwards | of.graph_forwards | {index},
        inputs.retained | of.retained,
        inputs.modules | of.modules | own,
        inputs.source,
        inputs.loader,
        inputs.cuts | of.cuts,
        parts=inputs.parts | of.parts,
        doubtful=(inputs.doubtful | of.doubtful) - inputs.surely - own,
        lost=inputs.lost | of.lost,
    )


def _is_frozen(run: Run, number: int) -> bool:
    """Whether the parameters that something owns surely require no gradients."""
    thing = run.objects.get(number)
    return thing is not None and thing.fact(Fact.FROZEN) is True


def _outer(run: Run, module: Module, call: Call) -> Value:
    """What a whole module returns to its caller."""
    output = _inner(run, module, call)
    plain_tensors.left(run, output, call.node)
    return output


def _inner(run: Run, module: Module, call: Call) -> Value:
    """Call a module, and tell those who watch."""
    run.spend(AROUND * len(run.modules_called))
    for observe in run.observers.entered:
        observe(run, module, call)
    output = _output(run, module, call)
    for tell in run.observers.left:
        tell(run, module, call, output)
    return output


def _output(run: Run, module: Module, call: Call) -> Value:
    """What calling a module returns; hooks and an attribute `forward` have the last word."""
    given = module.fields.get("forward")
    if isinstance(given, Value):
        return hooks.output_of(run, module, call, run.call(run.resolve(given), call))
    return hooks.output_of(run, module, call, _of_class(run, module, call))


def _of_class(run: Run, module: Module, call: Call) -> Value:
    """What the `forward` of its class returns."""
    function = module_parts.method_of(module, "forward")
    if function is not None:
        return _followed(run, module, function, call)
    content = module_parts.listed(module)
    if module.layer == "torch.nn.Sequential" and content is not None:
        return chaining.chained(run, module, content, call)
    modes.met_whole(run, (module,), surely=True)
    if module.table is not None:
        return layer_outputs.layer_output(run, module, module.table, call)
    pixels.met(run, module, next(iter(call.values), None))
    flow = blend(value.flow for value in call.values)
    passed = Flow(None if run.grad is not False else False, flow.forwards, source=flow.source, loader=flow.loader)
    answer = library_outputs.library_output(run, module, passed, call.node) if module.cls is None else Unknown(passed)
    return language_models.answered(run, module, call, answer)


def _followed(run: Run, module: Module, function: FunctionValue, call: Call) -> Value:
    """Execute a project module's `forward`, once for all calls that look alike."""
    values = call.values
    key = forward_cache.key(run, module, call)
    given = blend(value.flow for value in values)
    remembered = run.of(forward_cache.ForwardCache).get(key)
    if remembered is not None:
        modes.met(run, remembered.caring)
        return forward_cache.of_other_arguments(run, remembered.output, remembered.given, given)
    mark, number = run.heap.mark(), latest()
    before = forward_cache.moment(run)
    followed = Object()
    run.position.modules_called += (module,)
    with modes.followed(run, followed):
        output = run.call(Bound(function, module), call)
        if run.dead_end:
            modes.met_whole(run, (module,))
    run.position.modules_called = run.modules_called[:-1]
    result = forward_cache.Result(output, number, given, followed.fact(Fact.CARED))
    if before == forward_cache.moment(run) and run.heap.only_newer(mark, number):
        run.of(forward_cache.ForwardCache).keep(run, key, result)
    modes.met(run, result.caring)
    return output


def got_some(run: Run, forwards: frozenset[int], values: frozenset[int]) -> bool:
    """Whether a module got, in one of these forwards, what one of these events retained or computed."""
    return any(
        isinstance(event, Forward) and (event.inputs.retained | event.inputs.graph_forwards) & values
        for event in run.trace.at(*forwards)
    )
