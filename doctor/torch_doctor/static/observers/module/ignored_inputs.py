"""Tensors of a batch that a `forward` takes, or slices of them, and that go into nothing."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING

from torch_doctor.static import file_globals
from torch_doctor.static import program as p
from torch_doctor.static.observer import Named, Observer, override
from torch_doctor.static.program import influence
from torch_doctor.static.questions import KINDS, Kind, texts, yes
from torch_doctor.static.state import per_run
from torch_doctor.static.tables.functions import METHODS
from torch_doctor.static.values import (
    Bound,
    ClassValue,
    FunctionValue,
    Instance,
    Lib,
    Mapping,
    Method,
    Module,
    Sequence,
    Tensor,
)
from torch_doctor.trace import InputTried, Source

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TypeGuard

    from torch_doctor.sources.project import Project
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Call, Value

_LOOKS = frozenset(("locals", "vars", "eval", "exec"))
"""What may read a parameter without naming it."""
_HOOKS = frozenset(("register_forward_hook", "register_forward_pre_hook"))
"""What may read the input of a part, or what it gives."""
_KEPT = frozenset(("register_hook", "register_post_accumulate_grad_hook", "retain_grad", "storage", "untyped_storage"))


class IgnoredInputs(Observer, called=(Lib, Method, Module, Bound, FunctionValue), read=(Named(Module, _HOOKS),)):
    """Compares what a `forward` is given with what of it goes into something."""

    writes = (InputTried,)

    _pure: dict[p.Node, bool] = per_run(dict)
    _functions: defaultdict[p.Node, set[p.Function]] = per_run(
        lambda: defaultdict(set)
    )  # which calls were of which functions
    # Which methods and functions got the arguments of a call.
    _handed: dict[p.Node, set[tuple[FunctionValue, int, str]] | None] = per_run(dict)
    _hooked: bool = per_run(bool)
    _seen: set[tuple[p.Function, frozenset[str]]] = per_run(set)
    # Which parameters the modules of a call have, and what was written of them.
    _taken: defaultdict[p.Node, dict[str, set[str]]] = per_run(lambda: defaultdict(dict))
    _written: defaultdict[p.Node, list[InputTried]] = per_run(lambda: defaultdict(list))

    @override
    def read(self, _: Run, __: Value, ___: str, ____: p.Node) -> None:
        """An attribute of a module is taken."""
        self._hooked = True

    @override
    def called(self, _: Run, func: Value, call: Call, result: Value) -> None:
        """A call has returned: did it do anything else?"""
        function = _function_of(func)
        handed = self._handed.setdefault(call.node, set())
        if handed is not None and function is not None and not isinstance(func, Module):
            handed.add((function, int(isinstance(func, Bound)), _owner(func)))
        else:
            self._handed[call.node] = None  # a module's own `forward` is looked at when it is called
        if function is not None and not function.node.decorators and not function.contexts:
            self._functions[call.node].add(function.node)
        elif function is not None or not _only_returns(func, call, result):
            self._pure[call.node] = False
        else:
            self._pure.setdefault(call.node, True)

    @override
    def left(self, run: Run, module: Module, call: Call, _: Value) -> None:
        """A module was called."""
        found = module.cls.find("forward") if module.cls is not None else None
        if found is None or not isinstance(found[0], FunctionValue) or self._hooked:
            return
        function, owner = found[0], found[1]
        self._share(run, owner.name, function, call)
        if function.node.decorators or function.contexts or _is_an_interface(owner, function):
            return
        tensors = dict(_given(function, call))
        given = frozenset(tensors)
        if not given or (function.node, given) in self._seen:
            return
        self._seen.add((function.node, given))
        if _LOOKS & influence.names_in(function.node.body):
            return
        counts = self._influential(run, function.node, frozenset())
        used_at = run.site(call.node)
        read = {id(value) for name, value in tensors.items() if name in counts}
        lost = {name for name, value in tensors.items() if name not in counts and id(value) not in read}
        for parameter in function.node.parameters[1:]:
            if parameter.name in lost and not _takes(run, owner, function, parameter.name):
                site, told = function.unit.site(parameter.at), {"module": owner.name, "name": parameter.name}
                self._written[call.node].append(run.emit(InputTried, site, **told, used_at=used_at))
                self._share(run, owner.name, function, call)
        for kept in influence.kept_slices(function.node):
            if kept.parameter in given & counts and kept.name not in counts:
                site = function.unit.site(kept.taken.at)
                run.emit(InputTried, site, module=owner.name, name=kept.name, used_at=used_at)

    def _share(self, run: Run, owner: str, function: FunctionValue, call: Call) -> None:
        """Modules of several classes that one call may be of have one interface: one of them need not read all of it."""
        taken = self._taken[call.node]
        taken[owner] = {each.name for each in function.node.parameters}
        for event in self._written.get(call.node, ()):
            if any(event.name in names for other, names in taken.items() if other != event.module):
                run.trace.replace(event, shared=True)

    def _influential(self, run: Run, function: p.Function, within: frozenset[p.Function]) -> set[str]:
        """The names of a function that go into something, be it in what it hands them to."""
        inside = within | {function}
        found = influence.influential(function, self._is_pure, lambda call: self._ignored(run, call, inside))
        return found - set(influence.overwritten(function))

    def _ignored(self, run: Run, call: p.Call, within: frozenset[p.Function]) -> list[p.Name]:
        """The names that a call hands to parameters of the project which go into nothing, whichever function it is of."""
        called = self._handed.get(call)
        if not called or call in self._pure:
            return []
        each = [_handed_to(function.node, skipped, call) for function, skipped, _ in called]
        names = [argument for argument in (*call.args, *(value for _, value in call.keywords)) if _is_name(argument)]
        return [
            name
            for name in names
            if all(
                (parameter := found.get(id(name))) is not None
                and self._goes_nowhere(run, function, parameter, within, owner)
                for (function, _, owner), found in zip(called, each, strict=True)
            )
        ]

    def _goes_nowhere(
        self, run: Run, function: FunctionValue, parameter: p.Parameter, within: frozenset[p.Function], owner: str
    ) -> bool:
        """Whether a parameter goes into nothing, and no other function of this name may be called instead."""
        node = function.node
        if not _may_be_told(parameter) or node in within or node.decorators or function.contexts or _says_nothing(node):
            return False
        if _LOOKS & influence.names_in(node.body) or (owner and run.imports.ask("overrides", node.name, owner)):
            return False
        return parameter.name not in self._influential(run, node, within)

    def _is_pure(self, call: p.Call, within: frozenset[p.Function] = frozenset()) -> bool:
        """Whether all that a call did, whenever it was executed, was to return something."""
        functions = self._functions.get(call, set())
        if functions & within or not self._pure.get(call, bool(functions)):
            return False
        inside = within | functions
        return all(influence.alone(each, lambda call: self._is_pure(call, inside)) for each in functions)


def _function_of(func: Value) -> FunctionValue | None:
    """The function of the project that a call of something runs."""
    if isinstance(func, Module):
        found = func.cls.find("forward") if func.cls is not None else None
        func = found[0] if found is not None else func
    if isinstance(func, Bound):
        return func.function
    return func if isinstance(func, FunctionValue) else None


def _only_returns(func: Value, call: Call, result: Value) -> bool:
    """Whether something of torch's computes a result, and no more."""
    if isinstance(func, Lib):
        last = func.name.rpartition(".")[2]
        gives = isinstance(result, (Tensor, Sequence)) and func.name.startswith("torch.")
        return gives and not last.endswith("_") and "out" not in call.keywords
    if isinstance(func, Method):
        known = METHODS.get(func.name)
        return isinstance(func.of, Tensor) and known is not None and not known.in_place and func.name not in _KEPT
    return isinstance(func, Module) and func.cls is None and func.layer.startswith("torch.nn.")


def _given(function: FunctionValue, call: Call) -> Iterator[tuple[str, Value]]:
    """The parameters that have to be read, and the tensors of a batch that they are given."""
    for number, parameter in enumerate(function.node.parameters[1:]):
        given = call.argument(number, parameter.name)
        if _may_be_told(parameter) and isinstance(given, Tensor) and given.flow.source is Source.LOADER:
            yield parameter.name, given


def _may_be_told(parameter: p.Parameter) -> bool:
    """Whether it is there to be read: not one that has a default, or a name that says that nobody reads it."""
    return parameter.kind in ("plain", "keyword") and parameter.default is None and not parameter.name.startswith("_")


def _is_an_interface(owner: ClassValue, function: FunctionValue) -> bool:
    """Whether a base may ask for these parameters, or a body is there only to be overridden."""
    bases = [each for each in owner.mro()[1:] if isinstance(each, ClassValue)]
    above = any(each.fields.get("forward") is not None for each in bases)
    return above or bool(owner.opaque_base()) or len(function.node.body) == 0


def _takes(run: Run, owner: ClassValue, function: FunctionValue, name: str) -> bool:
    """Whether another class of the file, or of a table of the script, has a `forward` with this parameter.

    One call may be of either. A class whose own `forward` hands it on is none.
    """
    around = [each.cls for each in run.modules_called]
    fields = {*file_globals.every(run, run.frame.globals), *file_globals.every(run, run.home)}
    tables = [item for each in fields if isinstance(each, Mapping) for item in each.values()]
    for other in (*file_globals.every(run, function.closure.globals), *tables):
        if isinstance(other, ClassValue) and other is not owner and other not in around:
            method = other.fields.get("forward")
            if isinstance(method, FunctionValue) and any(each.name == name for each in method.node.parameters):
                return True
    return False


def _owner(func: Value) -> str:
    """The class of the project that defines a method; "" for a function, and for a method of anything else."""
    if not isinstance(func, Bound) or not isinstance(func.self, (Module, Instance)) or func.self.cls is None:
        return ""
    found = func.self.cls.find(func.function.node.name)
    return "" if found is None else found[1].name


def _is_name(argument: p.Expr) -> TypeGuard[p.Name]:
    return isinstance(argument, p.Name)


def _handed_to(function: p.Function, skipped: int, call: p.Call) -> dict[int, p.Parameter]:
    """The parameters that get the arguments of a call, by the arguments; none where some are not written one by one."""
    plain = [each for each in function.parameters if each.kind == "plain"][skipped:]
    if any(isinstance(each, p.Star) for each in call.args) or any(name is None for name, _ in call.keywords):
        return {}
    named = {each.name: each for each in function.parameters}
    found = {id(value): parameter for value, parameter in zip(call.args, plain, strict=False)}
    return found | {id(value): named[name] for name, value in call.keywords if name in named}


def _says_nothing(function: p.Function) -> bool:
    """Whether a body is there only to be overridden."""
    return all(isinstance(each, p.Raise) for each in function.body)


def _overrides(project: Project, name: str, owner: str) -> list[str]:
    """Whether a file that names a class defines or assigns such a method more often than once."""
    told = re.compile(rf"\bdef\s+{re.escape(name)}\b|\.{re.escape(name)}\s*=[^=]|[\"']{re.escape(name)}[\"']")
    naming = re.compile(rf"\b{re.escape(owner)}\b")
    return yes(holds=sum(len(told.findall(text)) for text in texts(project, name) if naming.search(text)) > 1)


KINDS["overrides"] = Kind(lambda name, owner: (name, owner), _overrides)
