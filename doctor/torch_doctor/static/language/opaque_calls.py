"""What goes out of sight: opaque calls, what they are handed, and the functions that they call back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from torch_doctor.static.flow import NONE, UNSEEN, blend
from torch_doctor.static.language import commands, containers, invocation, operators
from torch_doctor.static.library import Stage, library_family
from torch_doctor.static.tables import launchers, libraries, wrappers
from torch_doctor.static.tables.canonical import canonical
from torch_doctor.static.training import drawing
from torch_doctor.static.training.evaluation import modes
from torch_doctor.static.training.unresolved import escaping, packages
from torch_doctor.static.values import (
    ASKED,
    MADE,
    MADE_OF_GRADIENTS,
    NEUTRAL,
    VERSION,
    VOLATILE,
    Args,
    Bound,
    Call,
    Either,
    Fact,
    FunctionValue,
    Lib,
    Mapping,
    Method,
    Module,
    Origin,
    Partial,
    Plain,
    Sequence,
    Tensor,
    Unknown,
    Value,
    constant,
    fresh_symbol,
    held,
)

if TYPE_CHECKING:
    from torch_doctor.static import program as p
    from torch_doctor.static.libraries.library import Launcher
    from torch_doctor.static.run import Run
    from torch_doctor.trace import Tri


def opaque(run: Run, func: Value, call: Call) -> Value:
    """A call that cannot be followed: what it gets is handed over, what it returns may hold on to all of it."""
    values = call.values
    holders = (*values, func)
    holds = held(holders)
    library = canonical(func.name) if isinstance(func, Lib) else ""
    harmless = bool(library) and libraries.harmless(library)
    flows = blend(value.flow for value in values)
    if flows.means:
        flows = replace(flows, means=NONE)
    chance = _chance(func, values)
    if flows.chance is not chance:
        flows = replace(flows, chance=chance)
    if isinstance(func, Unknown):
        modes.met_whole(run, run.modules_called[-1:])  # it may be any part
    if isinstance(func, Unknown) or (library and not libraries.heard_of(library)):
        for module in run.modules_called[:1]:
            run.heap.set(module.facts, Fact.CALLS_UNSEEN, value=True)
    if not harmless:
        drawing.handed_over(run, values)
        escaping.hand_over(run, call.name or library, holders, values, call.node)
        for value in values:
            call_back(run, value, call.node)
        if library and len(call.args) == 1 and not call.keywords and isinstance(constant(call.args[0]), bool):
            run.set_grad(call.name, None, call.node)  # a switch of something that is there for all, perhaps of autograd
    may_be_layer = isinstance(func, (Unknown, Plain)) or (bool(library) and not escaping.neutral(func))
    if flows.graph is False and run.grad is not False and (may_be_layer or (holds and library)):
        flows = replace(flows, graph=None)
    flows = flows.part(call.node)
    flows = operators.recorded(run, flows) if flows.graph is not False else flows
    if not values and isinstance(func, Unknown):
        flows = blend((func.flow, UNSEEN))
        flows = replace(flows, chance=chance) if chance else flows
    if flows.graph is False and not flows.forwards and flows.source.value == "unknown":
        flows = replace(UNSEEN, rows=flows.rows, chance=flows.chance) if flows.rows or flows.chance else UNSEEN
    first = call.argument(0)
    if isinstance(first, Tensor) and first.origin.operation == MADE_OF_GRADIENTS and not holds:
        return Tensor(flows, origin=Origin(operation=MADE_OF_GRADIENTS))  # their mean over all processes, perhaps
    if isinstance(first, Tensor) and first.origin.operation == VOLATILE:
        return Tensor(flows, origin=Origin(operation=VOLATILE))  # the same on another device, perhaps
    word = (
        NEUTRAL if escaping.neutral(func) else MADE if library or (isinstance(func, Unknown) and func.confined) else "?"
    )
    asks = (VERSION,) if packages.asks_version(library, holders, call) else ()
    return Unknown(flows, holds, (*fresh_symbol(word), *asks, ASKED) if values else (*fresh_symbol(word), *asks))


def _chance(func: Value, values: Args) -> Tri:
    """Whether what a random transform made goes in: by itself, not as one of several parts, of which others may come out."""
    receiver = func.of if isinstance(func, Method) else func
    return any(each.flow.chance for each in (receiver, *values) if not isinstance(each, (Mapping, Sequence))) or None


def call_back(run: Run, value: Value, node: p.Node, given: Args = ()) -> None:
    """A project function was handed out: it is run once with what it is given, in a grad mode that nobody knows."""
    value = run.resolve(value)
    function = value.function if isinstance(value, Bound) else value
    if not isinstance(function, FunctionValue) or function.node in run.entered:
        return
    mode = run.grad
    run.heap.set(run.state.fields, "grad", None)
    invocation.enter(run, function, Call((value.self, *given) if isinstance(value, Bound) else given, {}, node))
    run.heap.set(run.state.fields, "grad", mode)


@library_family(launchers.LAUNCHERS, stage=Stage.ADAPTER)
def launch(run: Run, name: str, call: Call) -> Value | None:
    """A function of a library that runs the user's function; from a thread, it goes on while the script does."""
    launcher = launchers.LAUNCHERS[name]
    if call.args and isinstance(call.args[0], FunctionValue):
        commands.called_by(run, name, call.args[0])
    result = launched(run, launcher, call)
    if launcher.beside and result is not None:
        escaping.hand_over(run, call.name, call.values, (), call.node, stays=True)
    return result


@library_family(wrappers.APPLIED, stage=Stage.ADAPTER)
def applied(run: Run, name: str, call: Call) -> Value | None:
    """Call what is given first, as `data_parallel(module, inputs, devices)` and `checkpoint(function, *args)` do."""
    if not call.args or not isinstance(call.args[0], (Module, Bound, FunctionValue, Either)):
        return None
    given = call.args[wrappers.APPLIED[name] :]
    if not name.endswith(".checkpoint"):  # one input, or a tuple of several
        first = given[0] if given else Unknown()
        given = first.content.items if isinstance(first, Sequence) else (first,)
    return run.call(call.args[0], Call(given, {}, call.node, run.text_of_argument(call.node, 0)))


def launched(run: Run, launcher: Launcher, call: Call) -> Value | None:
    """A function of a library that runs the user's function; None when there is none to run."""
    function: Value | None = call.keywords.get(launcher.name)
    if function is None and launcher.function is not None and launcher.function < len(call.args):
        function = call.args[launcher.function]
    if function is None:
        return None
    passed: Value | None = call.keywords.get(launcher.args_name)
    if passed is None and launcher.args is not None and launcher.args < len(call.args):
        passed = call.args[launcher.args]
    given = containers.content_of(run, passed).items if isinstance(passed, Sequence) else ()
    target = function.function if isinstance(function, Bound) else function
    if not isinstance(target, FunctionValue):
        return run.call(function, Call(given, {}, call.node)) if isinstance(function, Partial) else None
    extra = tuple(Plain(fresh_symbol("flag")) for _ in range(launcher.prepended))
    wanted = sum(parameter.kind == "plain" for parameter in target.node.parameters)
    return run.call(
        function, Call((extra + given)[:wanted] if not isinstance(function, Bound) else extra + given, {}, call.node)
    )
