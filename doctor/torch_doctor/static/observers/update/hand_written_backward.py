"""Classes with a `backward` of their own: how many gradients it returns, and whether they are those of `forward`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from torch_doctor.static import file_globals
from torch_doctor.static import program as p
from torch_doctor.static.observer import Named, Observer, override
from torch_doctor.static.program.walking import walk
from torch_doctor.static.state import per_run
from torch_doctor.static.tables import words
from torch_doctor.static.tables.canonical import canonical
from torch_doctor.static.training.module import whole_graphs
from torch_doctor.static.training.update.derivatives import CannotTell, Execution, FunctionContext, arguments
from torch_doctor.static.values import ClassValue, FunctionValue
from torch_doctor.trace import HandWrittenBackward

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Value

_BASES: Final = frozenset(("torch.autograd.Function", "torch.autograd.function.Function"))
_KEEPING: Final = frozenset(("staticmethod", "custom_fwd", "custom_bwd", "once_differentiable"))
"""Decorators that leave the arguments and the result of a function as they are."""
_ONE: Final = frozenset(
    words(
        """
        clone contiguous detach mul add sub div neg pow exp log sqrt sum mean mm matmul bmm t transpose permute view reshape
        expand expand_as view_as reshape_as unsqueeze squeeze float double half to type_as masked_fill clamp where
        zeros_like ones_like empty_like einsum conv2d sigmoid tanh relu
        """
    )
)
"""Functions and methods of torch that return one tensor."""
_POINTS: Final = (0.37, 0.83, 1.31, -0.45, 1.9, -1.17, 0.61, 2.3)
_STRIDE: Final = 3  # between the points that two arguments get
_STEP: Final = 1e-5
_GRADIENT: Final = 1.7  # that comes from behind the function
_ENOUGH: Final = 5  # points at which all can be computed
_MOST: Final = 0.75  # of the points at which a wrong gradient is wrong: at few, it is kept within bounds on purpose
_CLOSE: Final = 1e-3


class _Function(NamedTuple):
    """The methods of such a class, each as it is written, and the inputs of `forward` without its context."""

    forward: FunctionValue
    backward: FunctionValue
    setup: FunctionValue | None
    inputs: tuple[p.Parameter, ...]


class _Wrong(NamedTuple):
    argument: str
    slope: float
    given: float


class HandWrittenBackwards(Observer, read=(Named(ClassValue, ("apply",)),)):
    """Writes of each class whose `apply` is taken what its `backward` returns."""

    writes = (HandWrittenBackward,)

    _seen: set[tuple[int, bool]] = per_run(
        set
    )  # the numbers of the classes, and whether their calls are compiled whole

    @override
    def read(self, run: Run, value: Value, _: str, node: p.Node) -> None:
        """`Square.apply` is called, or gets a name; only a call that is not compiled whole has a context to keep anything."""
        assert isinstance(value, ClassValue)
        whole = whole_graphs.is_within(run, node)
        if not self._seen.isdisjoint(((value.id, False), (value.id, whole))):
            return
        self._seen.add((value.id, whole))
        found = _function_of(value)
        if found is None:
            return
        file_globals.settle(run, found.forward)
        gradients, inputs = _counts(found)
        wrong = _wrong_gradient(found) if gradients in (0, inputs) else None
        kept, kept_at = ("", None) if whole else _kept(found)
        unit = found.backward.unit
        run.emit(
            HandWrittenBackward,
            unit.site(found.backward.node.name_at),
            class_name=value.name,
            inputs=inputs,
            gradients=gradients,
            argument=wrong.argument if wrong is not None else "",
            slope=wrong.slope if wrong is not None else 0.0,
            given=wrong.given if wrong is not None else 0.0,
            kept=kept,
            kept_at=unit.site(kept_at.at) if kept_at is not None else None,
        )


def _function_of(cls: ClassValue) -> _Function | None:
    """The methods of a class that derives from `torch.autograd.Function`, where all are in sight."""
    if cls.opaque_base() or not any(canonical(name) in _BASES for name in cls.libraries()):
        return None
    found = [cls.find(name) for name in ("forward", "backward", "setup_context")]
    methods = [each[0] if each is not None else None for each in found]
    forward, backward, setup = (each if isinstance(each, FunctionValue) else None for each in methods)
    if forward is None or backward is None or (setup is None and methods[2] is not None):
        return None
    if any(_last(each) not in _KEEPING for method in (forward, backward) for each in method.node.decorators):
        return None
    return _Function(forward, backward, setup, forward.node.parameters[setup is None :])


def _last(decorator: p.Expr) -> str:
    node = decorator.func if isinstance(decorator, p.Call) else decorator
    return getattr(node, "name", "") or getattr(node, "id", "")


# --- how many ---


def _counts(of: _Function) -> tuple[int, int]:
    """How many gradients `backward` returns on all paths, and how many inputs it has to return them for; 0 for not known."""
    if any(each.kind != "plain" for each in of.inputs):
        return 0, 0
    needed = len(of.inputs) if of.setup is not None else sum(each.default is None for each in of.inputs)
    returns = [each for each in _own(of.backward.node.body) if isinstance(each, p.Return)]
    counts = {_gradients(each.value, of.backward.node, len(of.inputs)) for each in returns}
    if len(counts) != 1 or 0 in counts:
        return 0, 0
    count = counts.pop()
    return (count, len(of.inputs)) if not needed <= count <= len(of.inputs) else (len(of.inputs), len(of.inputs))


def _gradients(value: p.Expr | None, function: p.Function, inputs: int) -> int:
    """How many gradients an expression stands for; 0 where that is not known. What is None beyond the inputs does not count."""
    if isinstance(value, p.Display) and value.kind == "tuple":
        if any(isinstance(each, p.Star) for each in value.items):
            return 0
        more = [each for each in value.items[inputs:] if not (isinstance(each, p.Const) and each.value is None)]
        if not more:
            return min(len(value.items), inputs)
        return len(value.items) if any(_is_one(each, function, set()) for each in more) else 0
    return 1 if value is not None and _is_one(value, function, set()) else 0


def _is_one(value: p.Expr, function: p.Function, seen: set[str]) -> bool:
    """Whether an expression is surely one tensor."""
    if isinstance(value, p.Operation):
        return value.op in "-/@**" or all(_is_one(each, function, seen) or _is_number(each) for each in value.operands)
    if isinstance(value, p.Call):
        name = _last(value.func)
        return name in _ONE
    if isinstance(value, p.Name) and value.id not in seen:
        given = [node.value for node in walk(function.body) if isinstance(node, p.Assign) and _binds(node, value.id)]
        others = any(isinstance(node, (p.For, p.With)) and value.id in _names(node) for node in walk(function.body))
        parameter = any(each.name == value.id and each.kind == "plain" for each in function.parameters[1:])
        inner = {*seen, value.id}
        return not others and bool(given or parameter) and all(_is_one(each, function, inner) for each in given)
    return False


def _is_number(value: p.Expr) -> bool:
    return isinstance(value, p.Const) and isinstance(value.value, float)


def _binds(node: p.Assign, name: str) -> bool:
    return any(name in _names(target) for target in node.targets if not isinstance(target, (p.Attribute, p.Index)))


def _names(node: p.Node) -> set[str]:
    of = node.target if isinstance(node, (p.For, p.With)) else node
    return {each.id for each in walk(of) if isinstance(each, p.Name)}


def _own(body: tuple[p.Node, ...]) -> Iterator[p.Node]:
    """The nodes of a function, without those of functions that it defines; nothing where it defines any."""
    nodes = list(walk(body))
    return iter(()) if any(isinstance(each, (p.Function, p.Class)) for each in nodes) else iter(nodes)


# --- which ---


def _wrong_gradient(of: _Function) -> _Wrong | None:
    """The first input whose gradient is not what the differences of `forward` are.

    Nothing where `forward` goes in steps, only passes its input on, or does not depend on an input: what such a function has
    for a derivative is its author's choice.
    """
    slopes: list[list[float]] = [[] for _ in of.inputs]
    given: list[list[float | None]] = [[] for _ in of.inputs]
    for point in range(len(_POINTS)):
        try:
            found = _at(of, point)
        except (CannotTell, ArithmeticError, ValueError):
            continue
        for place, (slope, gradient) in enumerate(found):
            slopes[place].append(slope)
            given[place].append(gradient)
    used = [place for place, each in enumerate(given) if any(gradient for gradient in each)]
    if not slopes or len(slopes[0]) < _ENOUGH or any(not any(slopes[place]) for place in _numbers(of)):
        return None
    for place in used:
        sizes = {round(abs(slope), 6) for slope in slopes[place] if slope}
        pairs = [
            (_GRADIENT * slope, gradient or 0.0) for slope, gradient in zip(slopes[place], given[place], strict=True)
        ]
        wrong = [pair for pair in pairs if abs(pair[0] - pair[1]) > _CLOSE * (1 + max(abs(each) for each in pair))]
        if len(sizes) > 1 and len(wrong) >= _MOST * len(pairs):
            return _Wrong(of.inputs[place].name, wrong[0][0], wrong[0][1])
    return None


def _numbers(of: _Function) -> list[int]:
    """The inputs that get numbers: all but those whose default is a flag or None."""
    return [place for place, each in enumerate(of.inputs) if not _is_flag(each)]


def _is_flag(parameter: p.Parameter) -> bool:
    default = parameter.default
    return default is not None and not (isinstance(default, p.Const) and type(default.value) in (int, float))


def _at(of: _Function, point: int) -> list[tuple[float, float | None]]:
    """The slope of `forward` in each of its inputs, and the gradient that `backward` gives for it."""
    values: list[float | bool | str | None] = []
    for place, each in enumerate(of.inputs):
        flag = each.default.value if _is_flag(each) and isinstance(each.default, p.Const) else None
        values.append(flag if _is_flag(each) else _POINTS[(point + _STRIDE * place) % len(_POINTS)])  # type: ignore[arg-type]
    context = FunctionContext()
    _forward(of, values, context)
    gradients = Execution(of.backward, arguments(of.backward, [context, _GRADIENT], {})).result()
    gradients = gradients if isinstance(gradients, tuple) else (gradients,)
    if len(gradients) < len(values):
        raise CannotTell
    found: list[tuple[float, float | None]] = []
    for place, value in enumerate(values):
        gradient = gradients[place]
        slope = _slope(of, values, place) if isinstance(value, float) else 0.0
        found.append((slope, None if gradient is None else float(gradient)))
    return found


def _slope(of: _Function, values: list[float | bool | str | None], place: int) -> float:
    around = []
    for step in (-_STEP, 0, _STEP):
        moved = [float(value) + step if number == place else value for number, value in enumerate(values)]  # type: ignore[arg-type]
        around.append(_forward(of, moved, FunctionContext()))
    before, after = (around[1] - around[0]) / _STEP, (around[2] - around[1]) / _STEP
    if abs(before - after) > _CLOSE * (1 + abs(before)):
        raise CannotTell  # a step, or a bend
    return (before + after) / 2


def _forward(of: _Function, values: list[float | bool | str | None], context: FunctionContext) -> float:
    if of.setup is None:
        result = Execution(of.forward, arguments(of.forward, [context, *values], {})).result()
    else:
        result = Execution(of.forward, arguments(of.forward, values, {})).result()
        Execution(of.setup, arguments(of.setup, [context, tuple(values), result], {}), returns=False).result()
    if not isinstance(result, float):
        raise CannotTell
    return result


# --- what is kept ---


def _kept(of: _Function) -> tuple[str, p.Node | None]:
    """The attribute of the context that keeps the very tensor that `forward` returns, and where."""
    function = of.forward.node
    context = function.parameters[0].name if function.parameters and of.setup is None else ""
    returned = {
        each.value.id for each in _own(function.body) if isinstance(each, p.Return) and isinstance(each.value, p.Name)
    }
    inputs = {each.name for each in of.inputs}
    for node in _own(function.body):
        if not isinstance(node, p.Assign):
            continue
        same = {each.id for each in (*node.targets, node.value) if isinstance(each, p.Name)}
        for target in node.targets if same & returned - inputs else ():
            if isinstance(target, p.Attribute) and isinstance(target.value, p.Name) and target.value.id == context:
                return f"{context}.{target.name}", node
    return "", None
