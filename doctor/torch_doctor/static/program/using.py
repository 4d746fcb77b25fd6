"""What functions do with the things they name, as far as that tells what these are; asked for without executing anything."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.program.expressions import (
    Attribute,
    Call,
    Choice,
    Const,
    Display,
    Index,
    Logic,
    Name,
    Operation,
    Star,
)
from torch_doctor.static.program.functions import Function
from torch_doctor.static.program.statements import Assign, Augment, For
from torch_doctor.static.program.uses import BATCHES, LOSS, MODEL, Uses
from torch_doctor.static.program.walking import walk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.static.program.node import Expr, Node

_MOVES = frozenset(("to", "cuda", "cpu", "half", "float", "double", "train", "eval", "prepare"))
_WRAPPERS = frozenset(("DDP", "DistributedDataParallel", "DataParallel", "FSDP", "FullyShardedDataParallel"))
_NUMBERS = frozenset(("item", "backward"))
_NO_TENSORS = frozenset(("item", "tolist", "numpy"))
_COURSES = frozenset(("enumerate", "tqdm", "trange", "zip", "iter", "islice", "track", "reversed", "cycle"))


def path_of(expression: Node | None) -> str:
    """The path of a name or of an attribute of a name, "" for anything else."""
    if isinstance(expression, Name):
        return expression.id
    if isinstance(expression, Attribute) and (inside := path_of(expression.value)):
        return f"{inside}.{expression.name}"
    return ""


def uses_in(function: Function) -> Uses:
    """What a function does with what it names, remembered with it."""
    if function.shown is None:
        function.shown = _UseReader(function).read()
    return function.shown


class _UseReader:
    """Reads one function, those that are defined inside it included."""

    def __init__(self, function: Function) -> None:
        self._uses = Uses()
        self._uses.marks = {path: set(attributes) for path, attributes in function.uses.items()}
        self._made: dict[str, list[tuple[Expr, bool]]] = {}
        self._own = {"self", *(parameter.name for parameter in function.parameters)}
        self._calls: list[Call] = []
        self._courses: list[For] = []
        for node in walk(function.body):
            if isinstance(node, Function):
                self._own.update(parameter.name for parameter in node.parameters)
            elif isinstance(node, Call):
                self._calls.append(node)
            elif isinstance(node, For):
                self._courses.append(node)
            elif isinstance(node, (Assign, Augment)):
                self._assigned(node)
        self._own.update(self._made)

    def read(self) -> Uses:
        for call in self._calls:
            self._passed(call)
            if isinstance(call.func, Attribute) and call.func.name in _NUMBERS:
                whole = call.func.name == "backward"
                for source in self._sources(call.func.value):
                    self._made_a_number(source, backward=whole)
                for argument in call.args[:1] if whole else ():
                    for source in self._sources(argument):
                        self._made_a_number(source, backward=True)
        for course in self._courses:
            self._ran_over(course)
        return self._uses

    def _mark(self, path: str, mark: str) -> None:
        if path:
            self._uses.marks.setdefault(path, set()).add(mark)

    def _assigned(self, node: Assign | Augment) -> None:
        targets = node.targets if isinstance(node, Assign) else (node.target,)
        for target in targets:
            parts = target.items if isinstance(target, Display) else (target,)
            for part in parts:
                if path := path_of(part.value if isinstance(part, Star) else part):
                    self._made.setdefault(path, []).append((node.value, isinstance(target, Display)))
                    if not isinstance(target, Display):
                        for origin in _stands_for(node.value):
                            self._uses.stored.setdefault(origin, set()).add(path)

    def _passed(self, call: Call) -> None:
        """What is given to a function, or wrapped."""
        callee = path_of(call.func)
        if callee.rpartition(".")[2] in _WRAPPERS and call.args:
            self._mark(path_of(call.args[0]), MODEL)
        if not callee:
            return
        given: list[tuple[int | str, Expr]] = [
            *enumerate(call.args),
            *((name, value) for name, value in call.keywords if name is not None),
        ]
        for place, value in given:
            if path := path_of(value):
                self._uses.passes.setdefault(path, []).append((callee, place))

    def _sources(self, expression: Expr, seen: frozenset[str] = frozenset()) -> Iterator[tuple[Call, bool]]:
        """The calls that directly made a value, and whether it is only a part of what they returned."""
        if isinstance(expression, (Operation, Logic)):
            for operand in expression.operands:
                yield from self._sources(operand, seen)
        elif isinstance(expression, Choice):
            yield from self._sources(expression.then, seen)
            yield from self._sources(expression.other, seen)
        elif isinstance(expression, Call):
            yield from self._sources_of_call(expression, seen)
        elif (path := path_of(expression)) and path in self._made:
            if path not in seen:
                for value, part in self._made[path]:
                    for call, partly in self._sources(value, seen | {path}):
                        yield call, part or partly
        elif isinstance(expression, (Index, Attribute)):
            for call, _ in self._sources(expression.value, seen):
                yield call, True

    def _sources_of_call(self, call: Call, seen: frozenset[str]) -> Iterator[tuple[Call, bool]]:
        func = call.func
        if isinstance(func, Attribute):
            if func.name in _NO_TENSORS:
                return
            receiver = [*self._sources(func.value, seen)]
            if receiver:
                yield from receiver
                return
            if func.name == "scale" or _root(func) not in self._own:  # a scaler's, or a library's function
                for argument in call.args:
                    yield from self._sources(argument, seen)
                return
        yield call, False

    def _made_a_number(self, source: tuple[Call, bool], *, backward: bool) -> None:
        """A call made a number, or what goes backward: it was that of a loss, or of a model that computes its own."""
        call, part = source
        if isinstance(call.func, Name) or (isinstance(call.func, Attribute) and isinstance(call.func.value, Name)):
            arguments = [*call.args, *(value for _, value in call.keywords)]
            behind = [found for each in arguments for found, _ in self._sources(each)]
            path = path_of(call.func)
            models = [path_of(each.func) for each in behind if path_of(each.func) != path and each.args]
            if models and len(arguments) > 1:
                if not part:
                    self._mark(path, LOSS)
                for model in models if backward else ():
                    self._mark(model, MODEL)
            elif backward and arguments and not behind:
                self._mark(path, MODEL)

    def _ran_over(self, course: For) -> None:
        given = {each.id for each in walk(course.target) if isinstance(each, Name)}
        moved = any(
            isinstance(node, Call)
            and isinstance(node.func, Attribute)
            and node.func.name in ("to", "cuda")
            and _root(node.func.value) in given
            for node in walk(course.body)
        )
        fed = any(
            isinstance(node, Call)
            and MODEL in self._uses.of(path_of(node.func))
            and any(_root(each) in given for each in (*node.args, *(value for _, value in node.keywords)))
            for node in walk(course.body)
        )
        for path in _run_over(course.over) if moved or fed else ():
            self._mark(path, BATCHES)


def _root(expression: Expr) -> str:
    """The variable that an expression takes something of, "" for none."""
    while isinstance(expression, (Attribute, Index, Star)):
        expression = expression.value
    return expression.id if isinstance(expression, Name) else ""


def _run_over(expression: Expr) -> Iterator[str]:
    """The paths of what a loop goes over, be it counted, or shown in a progress bar."""
    if isinstance(expression, Call) and path_of(expression.func).rpartition(".")[2] in _COURSES:
        for argument in expression.args:
            yield from _run_over(argument)
    elif path := path_of(expression):
        yield path


def _stands_for(value: Expr) -> Iterator[str]:
    """The paths that a value may be another name of: moved to a device, or unless it is missing."""
    if isinstance(value, Call) and isinstance(value.func, Attribute) and value.func.name in _MOVES:
        yield from _stands_for(value.func.value)
    elif isinstance(value, Logic):
        for operand in value.operands:
            yield from _stands_for(operand)
    elif isinstance(value, Choice):
        yield from _stands_for(value.then)
        yield from _stands_for(value.other)
    elif not isinstance(value, Const) and (path := path_of(value)):
        yield path
