"""Loaders that come from out of sight: what a loop goes through tells by its name that it gives batches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static import program as p
from torch_doctor.static.training.unresolved import roles
from torch_doctor.static.values import (
    Fact,
    Lib,
    Loader,
    Unknown,
    UnknownAttribute,
    asked,
    compound,
    from_argument,
    symbol_of,
)
from torch_doctor.trace import Source

if TYPE_CHECKING:
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Symbol, Value


def gone_through(run: Run, value: Value, over: p.Expr | None) -> Value:
    """What a loop goes through, with the loader that it is where its name, or that of what made it, says so."""
    if not isinstance(value, (Unknown, Lib)) or not _comes_from_elsewhere(value):
        return value
    return next((found for name in _names(value, over) if (found := _called(run, value, name))), value)


def unpacked(run: Run, value: Value, target: p.Expr) -> Value:
    """One of several results of code out of sight, with the loader that it is where its name says so."""
    if (
        not isinstance(target, (p.Name, p.Attribute))
        or not isinstance(value, Unknown)
        or not _comes_from_elsewhere(value)
    ):
        return value
    return _called(run, value, _last(target)) or value


def one_of(run: Run, value: Loader, key: Value) -> Loader:
    """The loader that lies under a key of what is called `loaders`: the same one whenever it is asked for."""
    symbol = compound("[]", ("object", value.id), symbol_of(key))
    return _remembered(run, symbol, value.name, moved=value.fact(Fact.ELSEWHERE))


def _comes_from_elsewhere(value: Value) -> bool:
    """Whether it was made out of sight, and not of what modules or loaders gave."""
    flow = value.flow
    return not (flow.forwards or flow.loader) and flow.graph is not True and flow.source is Source.UNKNOWN


def _names(value: Unknown | Lib, over: p.Expr | None) -> list[str]:
    """What the loop calls it, then what it is called where it comes from."""
    names = [] if over is None else [_last(over)]
    if isinstance(value, Lib):
        names.append(value.name.rpartition(".")[2])
    elif isinstance(value, UnknownAttribute):
        names.append(value.name)
    return names


def _last(node: p.Expr) -> str:
    """The last name in an expression: of an attribute, of what is called, or of what an item is taken of."""
    while isinstance(node, (p.Call, p.Index)):
        node = node.func if isinstance(node, p.Call) else node.value
    return node.id if isinstance(node, p.Name) else node.name if isinstance(node, p.Attribute) else ""


def _called(run: Run, value: Unknown | Lib, name: str) -> Loader | None:
    if not roles.names_loader(run, name):
        return None
    symbol: Symbol = ("library", value.name) if isinstance(value, Lib) else value.symbol
    return _remembered(run, symbol, name, moved=asked(symbol))


def _remembered(run: Run, symbol: Symbol, name: str, *, moved: bool) -> Loader:
    """The loader that a value is, the same one wherever the value is used; others may have moved its batches."""
    found = run.of(roles.Played).things.get((symbol, Loader))
    if isinstance(found, Loader):
        return found
    loader: Loader = run.own(Loader(None, name))
    loader.facts[Fact.ELSEWHERE] = moved
    loader.facts[Fact.HANDED_IN] = from_argument(symbol)
    run.of(roles.Played).things[symbol, Loader] = loader
    return loader
