"""Executes a project function: its parameters are bound, its body runs, its paths join in what it returns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from torch_doctor.static.budget import DEPTH, RECURSIONS
from torch_doctor.static.flow import blend
from torch_doctor.static.landing import Landing
from torch_doctor.static.language import commands, memoized, unfinished
from torch_doctor.static.options import Options
from torch_doctor.static.training.device import autocasting
from torch_doctor.static.training.evaluation import modes
from torch_doctor.static.training.module import module_classes
from torch_doctor.static.training.unresolved import arguments, entering, escaping
from torch_doctor.static.values import (
    NOTHING,
    Autocast,
    Bound,
    Call,
    ClassValue,
    Content,
    Context,
    FunctionValue,
    Mapping,
    Memo,
    Module,
    Object,
    Partial,
    Raising,
    Sequence,
    Spread,
    Suspended,
    Unknown,
    Value,
    fresh_symbol,
    held,
    join,
    rebuilt,
    summary,
)
from torch_doctor.static.values.functions import Frame
from torch_doctor.trace import CallEntered, CallExited, Scope, ScopeKind

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Conditions, Symbol
    from torch_doctor.trace import Tri


MORE = "**more"
"""The key of what callers out of sight may give beside the parameters that have a name."""


def called(run: Run, function: FunctionValue, call: Call) -> Value:
    """Call a project function; one that was made a context manager waits for its `with`."""
    if function.style == "contextmanager":
        return Suspended(function, call.args, call.keywords)
    return enter(run, function, call)


def enter(
    run: Run,
    function: FunctionValue,
    call: Call,
    on_yield: Callable[[Value], Value] | None = None,
) -> Value:
    """Execute a project function; what it returns, or an unknown value where it is not followed."""
    run.spend()
    if function.memoized:
        return memoized.called(run, function, call, lambda: _followed(run, function, call, on_yield))
    return _followed(run, function, call, on_yield)


def _followed(run: Run, function: FunctionValue, call: Call, on_yield: Callable[[Value], Value] | None = None) -> Value:
    """Execute a project function whose result is not there yet."""
    repeated = sum(1 for entered in run.stack if entered.node is function.node)
    if run.position.passing or len(run.stack) >= DEPTH:
        if not run.position.passing:
            run.give_up(call.node, "too many nested calls")
        unfinished.may_initialise(run)
        modes.met_whole(run, run.modules_called[-1:])
        return Unknown(blend(value.flow for value in call.values), held(call.values))
    if _is_abstract(function):
        answer = Unknown(blend(value.flow for value in call.values), held(call.values))
        escaping.passed(run, answer, call.values, function.node.name, call.node)
        return answer
    if repeated >= RECURSIONS:
        return unfinished.ended(run, function, call)
    if on_yield is not None or function.node.name == "__init__":  # which the class ends
        return _entered(run, function, call, on_yield)
    return unfinished.within_share(run, function, call, lambda: _entered(run, function, call))


def _is_abstract(function: FunctionValue) -> bool:
    """Whether a method says that heirs define it anew: what they do, nobody knows here."""
    names = (getattr(each, "name", getattr(each, "id", "")) for each in function.node.decorators)
    return "abstractmethod" in names


def _entered(run: Run, function: FunctionValue, call: Call, on_yield: Callable[[Value], Value] | None = None) -> Value:
    """Execute a function whose call is followed; what it returns."""
    frame = _frame(run, function, _fitting(function, call), on_yield)
    outer = run.position
    quiet = bool(run.modules_called)
    where, called_at = function.unit.site(function.node.name_at), run.site(call.node)
    position = outer.moved(frame=frame, iteration=None, loop=None, stack=(*outer.stack, function))
    if not quiet:
        run.emit(CallEntered, call.node, function=function.node.name, function_site=where)
        position.scope = Scope(ScopeKind.CALL, where, outer.scope, name=function.node.name, called_at=called_at)
    opaque = any(isinstance(context, Unknown) for context in function.contexts)
    run.position = position
    for tell in run.observers.given:
        tell(run, function, frame.fields)
    falls_through = _inside(run, function, call, frame, opaque=opaque)
    run.position = outer  # not where a run is given up within: its position tells in which functions that was
    for observe in run.observers.returned:
        observe(run, function)
    if not quiet:
        run.emit(CallExited, call.node, function=function.node.name)
    if function.node.generator and on_yield is None:
        items = Content((), summary(frame.yielded) if frame.yielded else Unknown())
        result: Value = run.own(Sequence("list", items, run.site(call.node), function))
        return _wrapped(result) if opaque else result
    result = _result(run, frame, falls_through=falls_through)
    return rebuilt(result, _wrapped, run.own) if opaque else result


def _inside(run: Run, function: FunctionValue, call: Call, frame: Frame, *, opaque: bool) -> bool:
    """Execute a function with its decorators: whether a path leaves it by its end."""
    grad, autocast = run.grad, autocasting.current(run)
    for context in function.contexts:
        if isinstance(context, Context):
            run.set_grad(context.name, context.enabled, context.born)
        elif isinstance(context, Autocast):
            autocasting.enter(run, context)
        elif not isinstance(context, Memo):
            escaping.passed(run, context, call.values, function.node.name, call.node)
            run.set_grad(function.node.name, None, call.node)
    alive, falls_through = (_perhaps_executed if opaque else _executed)(run, function, frame)
    run.dead_end = not alive
    if not alive:
        unfinished.may_initialise(run)  # what is raised on all paths here is not, in a script that works
    _leave_decorators(run, function, call, (grad, autocast), alive=alive)
    return falls_through


def _executed(run: Run, function: FunctionValue, frame: Frame) -> tuple[bool, bool]:
    """Execute the body of a function: whether a path leaves it, and whether one does by its end."""
    frame.returns = Landing(run.heap.mark(), run.fork_depth, run.loop_depth)
    falls_through = run.block(function.node.body)
    return run.land(frame.returns, alive=falls_through or frame.returns.direct), falls_through


def _perhaps_executed(run: Run, function: FunctionValue, frame: Frame) -> tuple[bool, bool]:
    """Execute the body as one way of two: a decorator that nobody can follow may leave it out."""
    symbol = fresh_symbol("runs")
    found: list[tuple[bool, bool]] = []

    def body() -> bool:
        found.append(_executed(run, function, frame))
        return found[0][0]

    def left_out() -> bool:
        unfinished.may_initialise(run)
        return True

    run.fork((({symbol: True}, body), ({symbol: False}, left_out)), function.node, symbol)
    return found[0]


def _leave_decorators(run: Run, function: FunctionValue, call: Call, was: tuple[Tri, object], *, alive: bool) -> None:
    """Undo what the decorators of a function switched."""
    grad, autocast = was
    if any(isinstance(context, Autocast) for context in function.contexts):
        autocasting.leave(run, autocast, call.node)
    switches = [context for context in function.contexts if not isinstance(context, (Autocast, Memo))]
    if alive and switches:
        born = switches[-1].born if isinstance(switches[-1], Context) else call.node
        run.set_grad("decorator", grad, born, leave=True)
    for context in switches:
        if isinstance(context, Unknown):
            escaping.passed(run, context, call.values, function.node.name, call.node)


def _fitting(function: FunctionValue, call: Call) -> Call:
    """The call as a decorated function gets it: one that nobody can follow may have taken the object away, or all arguments."""
    if not any(isinstance(context, Unknown) for context in function.contexts):
        return call
    parameters = function.node.parameters
    if any(each.kind == "args" for each in parameters):
        return call
    count = sum(each.kind == "plain" for each in parameters)
    return call if len(call.args) <= count else call.with_args(call.args[1:] if len(call.args) == count + 1 else ())


def _wrapped(value: Value) -> Value:
    """What a function returns through a decorator that nobody can follow: objects stay what they are."""
    if not isinstance(value, (Sequence, Mapping)) and isinstance(
        value, (Object, FunctionValue, Bound, ClassValue, Partial, Raising)
    ):
        return value
    return Unknown(replace(value.flow.part(fresh_symbol()), graph=None), held((value,)))


def _frame(run: Run, function: FunctionValue, call: Call, on_yield: Callable[[Value], Value] | None) -> Frame:
    """The frame of a call, with the parameters bound to what they are given."""
    run.entered.add(function.node)
    frame = Frame(function.unit, function.closure.globals, function.closure)
    frame.what = function
    frame.on_yield = on_yield
    if function.owner is not None and call.args and function.style != "static":
        frame.self = call.args[0]
    if function.node.name == "__init__" and isinstance(frame.self, Module):
        module_classes.note_constructor(run, frame.self, function)
    _bind_parameters(run, frame, function, call)
    if function.node in function.unit.leading:
        entering.settle_optimizer(run, frame.fields.values())
    return frame


def _result(run: Run, frame: Frame, *, falls_through: bool) -> Value:
    """What a function returns: one value, or one of a few that are told apart by what each path assumed."""
    returned = list(frame.returned)
    if falls_through:
        returned.append((frozenset(run.assumed.items()) if returned else frozenset(), NOTHING))
    if not returned:
        return NOTHING
    if len(returned) == 1:
        return run.resolve(returned[0][1])
    before = frozenset(run.assumed.items())
    result: Value | None = None
    for facts, value in reversed(returned):
        if result is None:
            result = value
            continue
        own: Conditions = frozenset(fact for fact in facts - before if not _follows(fact, facts))
        symbol, arm = min(own, key=repr) if len(own) == 1 else (fresh_symbol("returned"), True)
        run.of(Options).chooses(symbol, value, result, run.assumed)
        result = join(value, result, symbol) if arm else join(result, value, symbol)
    assert result is not None
    return run.resolve(result)


def _follows(fact: tuple[Symbol, bool], facts: Conditions) -> bool:
    """Whether a fact says only that what equals one constant equals no other."""
    (operator, *sides), holds = fact
    return operator == "==" and not holds and any(yes and other[:2] == ("==", sides[0]) for other, yes in facts)


def _bind_parameters(run: Run, frame: Frame, function: FunctionValue, call: Call) -> None:
    fields = frame.fields
    positional = list(call.args)
    spread: Value | None = None
    if positional and isinstance(positional[-1], Spread):
        content = positional.pop().content  # type: ignore[attr-defined]  # checked just above
        positional.extend(content.items)
        spread = content.rest
    left = dict(call.keywords)
    open_ = left.pop("**", None)
    more = left.pop(MORE, None)
    for parameter in function.node.parameters:
        name = parameter.name
        if parameter.kind == "args":
            rest = spread
            fields[name] = run.own(Sequence("tuple", Content(tuple(positional), rest)))
            positional = []
        elif parameter.kind == "kwargs":
            mapping: Mapping = run.own(Mapping())
            for key, value in left.items():
                mapping.fields["key", key] = value
            if open_ is not None or more is not None:
                mapping.fields["rest"] = open_ or more
            fields[name] = mapping
        elif parameter.kind == "plain" and positional:
            fields[name] = arguments.given(run, positional.pop(0), parameter, function)
        elif name in left:
            fields[name] = arguments.given(run, left.pop(name), parameter, function)
        elif spread is not None and parameter.kind == "plain":
            fields[name] = spread
        elif (option := commands.given(run, function, name)) is not None:
            fields[name] = option
        elif parameter.default is not None and open_ is None:
            outer, run.position.frame = run.frame, Frame(function.unit, function.closure.globals, function.closure)
            fields[name] = run.evaluate(parameter.default)
            run.position.frame = outer
        else:
            fields[name] = arguments.argument_for(run, parameter, function) if open_ is None else Unknown()
