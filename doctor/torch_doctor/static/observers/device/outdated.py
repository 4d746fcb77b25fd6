"""What has a successor in torch, where it is used."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from torch_doctor.static import program as p
from torch_doctor.static.library import Stage, library, library_family
from torch_doctor.static.measuring import measured
from torch_doctor.static.observer import Named, Observer, override
from torch_doctor.static.program.walking import walk
from torch_doctor.static.state import per_run
from torch_doctor.static.tables import functions, losses, outdated, training
from torch_doctor.static.values import (
    Call,
    Const,
    Either,
    Grads,
    Lib,
    Method,
    Module,
    ParameterValue,
    Params,
    Tensor,
    Value,
)
from torch_doctor.trace import OutdatedUsed

if TYPE_CHECKING:
    from collections.abc import Iterable

    from torch_doctor.static.program.node import Node
    from torch_doctor.static.run import Run
    from torch_doctor.static.tables.outdated import Outdated
    from torch_doctor.static.unit import Unit
    from torch_doctor.trace import Site


_TENSORS = (Tensor, Params, ParameterValue)


class OutdatedNames(
    Observer,
    named=(Named(Lib, outdated.NAMES), Either),
    read=tuple(Named(each, outdated.OF_TENSORS) for each in (*_TENSORS, Grads)),
    made=outdated.OF_SINGLE_NUMBERS,
    invoked=(Named(Method, lambda name: name.removeprefix("super.") in outdated.OF_MODULES),),
):
    """Uses of names, attributes, methods and arguments that have a successor in torch."""

    writes = (OutdatedUsed,)

    _reported: set[tuple[int, Site, str]] = per_run(set)  # the trace, the place and the name

    @override
    def named(self, run: Run, value: Value, node: p.Expr) -> None:
        """Something of a library is named: its use, unless only its type is asked for, or it was told where it got this name.

        Where an import may have failed, what it gave is used; where that is one of several names of torch, the script has
        chosen what its torch has.
        """
        if isinstance(value, Either):
            options = [option for _, option in value.options if isinstance(option, Lib)]
            if len({option.name for option in options}) != 1:
                return
            value = options[0]
        if isinstance(value, Lib) and not value.reported:
            known = outdated.NAMES.get(value.name)
            if known is not None and not _for_type_alone(run, node):
                self.tell(run, known, value.name, node)

    @override
    def read(self, run: Run, _: Value, name: str, node: p.Node) -> None:
        """An attribute of what is surely a tensor is read."""
        if name in functions.ATTRIBUTES:
            self.tell(run, outdated.OF_TENSORS[name], f"torch.Tensor.{name}", node)

    @override
    def attribute_set(self, run: Run, holder: Value, target: p.Attribute, _: Value, __: p.Node) -> None:
        """An attribute of what is surely a tensor is set."""
        known = outdated.OF_TENSORS.get(target.name)
        if known is not None and isinstance(holder, _TENSORS):
            self.tell(run, known, f"torch.Tensor.{target.name}", target)

    @override
    def made(self, run: Run, name: str, call: Call, _: Value) -> None:
        """An item is taken of a loss that is a single number."""
        known = outdated.OF_SINGLE_NUMBERS[name]
        if not isinstance(call.node, p.Index):
            return
        value, key = call.args
        single = isinstance(value, Tensor) and measured(value).shape == ()
        if single and isinstance(key, Const) and type(key.value) is int and id(call.node) not in _tried(run.frame.unit):
            self.tell(run, known, f"torch.Tensor{name}", call.node)

    @override
    def invoked(self, run: Run, func: Value, call: Call) -> None:
        """A method of a module is called."""
        if isinstance(func, Method) and isinstance(func.of, Module):
            name = func.name.removeprefix("super.")
            known = outdated.OF_MODULES.get(name)
            if known is not None:
                node = call.node.func if isinstance(call.node, p.Call) else call.node
                self.tell(run, known, f"torch.nn.Module.{name}", node)

    def tell(self, run: Run, known: Outdated, api: str, node: p.Node, name: str = "") -> None:
        """Write a use, once for each place."""
        site = run.site(node)
        if (id(run.trace), site, api) not in self._reported:
            self._reported.add((id(run.trace), site, api))
            versions = {"since": known.since, "warns": known.warns, "gone": known.gone}
            given = {
                "name": name or run.text(node),
                "instead": known.instead,
                "idle": known.idle,
                "dropped": known.dropped,
            }
            run.emit(OutdatedUsed, site, api=api, **given, **versions)


def _for_type_alone(run: Run, node: p.Expr) -> bool:
    """Whether the name only leads to something private of a library, or to a type that another is compared with."""
    for callee in _aside(run.frame.unit).get(id(node), ()):
        if isinstance(callee, p.Attribute):
            if callee.name in _ASSERT_TYPES:
                return True
            continue
        asks = run.evaluate(callee) if callee is not None else None
        if asks is None or (isinstance(asks, Lib) and asks.name in _ASK_TYPES):
            return True
    return False


@lru_cache(maxsize=64)
def _tried(unit: Unit) -> frozenset[int]:
    """The ids of what lies in a `try` that catches what an index raises: something else is done where it is refused."""
    tries = (each for each in unit.nodes if isinstance(each, p.Try))
    caught = (each.body for each in tries if any(map(_catches_index, each.handlers)))
    return frozenset(id(part) for body in caught for part in walk(body))


def _catches_index(handler: p.Handler) -> bool:
    return not handler.names or not _INDEX_ERRORS.isdisjoint(handler.names)


@lru_cache(maxsize=64)
def _aside(unit: Unit) -> dict[int, list[p.Name | p.Attribute | None]]:
    """What is called with these nodes among its arguments, by their ids; None where they are private, or annotate a parameter.

    Nothing that is named with an underscore belongs to what torch replaces.
    """
    found: dict[int, list[p.Name | p.Attribute | None]] = {}
    for node in unit.nodes:
        inside: Iterable[Node] = ()
        callee: p.Name | p.Attribute | None = None
        if isinstance(node, p.Attribute) and node.name.startswith("_"):
            inside = walk(node.value)
        elif isinstance(node, p.Call) and isinstance(node.func, (p.Name, p.Attribute)):
            callee, inside = node.func, walk(node.args, node.keywords)
        elif isinstance(node, p.Function):
            inside = walk([each.annotation for each in node.parameters if each.annotation is not None])
        for part in inside:
            found.setdefault(id(part), []).append(callee)
    return found


@library_family(losses.LOSSES, stage=Stage.NOTE)
def loss(run: Run, name: str, call: Call) -> None:
    """A loss may be given settings that torch has replaced."""
    _given(run, name, outdated.OF_LOSSES, call)


@library("torch.autograd.Variable", stage=Stage.NOTE)
def variable(run: Run, name: str, call: Call) -> None:
    """`Variable` may be given settings that torch has dropped."""
    _given(run, name, outdated.OF_VARIABLES, call)


@library_family(lambda name: name.startswith("torch.") and training.scheduler_of(name), stage=Stage.NOTE)
def scheduler(run: Run, name: str, call: Call) -> None:
    """A scheduler of torch's may be given settings that torch has dropped."""
    _given(run, name, outdated.OF_SCHEDULERS, call)


def _given(run: Run, api: str, table: dict[str, Outdated], call: Call) -> None:
    """Something of torch is called with these arguments; those that are as they are by default say nothing."""
    if not run.watches(OutdatedNames):
        return
    for name, value in call.keywords.items():
        if name in table and not (isinstance(value, Const) and value.value is None):
            run.of(OutdatedNames).tell(run, table[name], f"{api}({name}=)", call.node, f"{name}=")


_INDEX_ERRORS = frozenset(("IndexError", "LookupError", "Exception", "BaseException"))
_ASK_TYPES = frozenset(("builtins.isinstance", "builtins.issubclass"))
_ASSERT_TYPES = frozenset(("assertIsInstance", "assertNotIsInstance"))
