"""Reads the calls that no run came to and that show all by themselves what is wrong: files that are read without limits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.pattern import pattern
from torch_doctor.static import program as p
from torch_doctor.static.program.walking import asks_version, walk
from torch_doctor.static.tables import training
from torch_doctor.static.tables.canonical import canonical
from torch_doctor.static.training.checkpoint import checkpoints
from torch_doctor.static.values import Args, Call, Keywords, Lib, Unknown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.static.run import Run
    from torch_doctor.static.unit import Unit

_LAST = frozenset(name.rpartition(".")[2] for name in training.LOADS)
_NAMED = pattern(rf"\b(?:{'|'.join(sorted(_LAST))})\b")


def reads(unit: Unit) -> list[p.Call]:
    """The calls of a file that may read a checkpoint, wherever they stand.

    Not where a test of a version decides: the other way is for the torch that is safe. Nor after a read with limits that
    failed, nor in a file that reads from memory.
    """
    text = unit.source.text
    if "torch" not in text or "BytesIO" in text or not _NAMED.search(text):
        return []
    names, aside, calls = set(_LAST), set[p.Node](), list[p.Call]()
    for node in unit.nodes:
        if isinstance(node, p.If) and asks_version(node.test):
            aside.update(walk(node.body, node.other))
        elif isinstance(node, p.Try) and any(_has_limits(each) for each in walk(node.body)):
            aside.update(walk(*(handler.body for handler in node.handlers)))
        elif isinstance(node, p.ImportFrom):
            names.update(alias for name, alias in node.names if canonical(f"{node.module}.{name}") in training.LOADS)
        elif isinstance(node, p.Call):
            calls.append(node)
    return sorted((call for call in calls if _called(call) in names and call not in aside), key=lambda call: call.at)


def read(run: Run, calls: list[p.Call]) -> None:
    """Write those of the calls that read a checkpoint; of what they are given only literals are known."""
    for call in calls:
        function = run.evaluate(call.func)
        if isinstance(function, Lib) and canonical(function.name) in training.LOADS:
            checkpoints.loaded(run, canonical(function.name), Call(_args(run, call), _keywords(run, call), call))


def _has_limits(node: p.Node) -> bool:
    """Whether a call says that only tensors and plain containers are read, or lets its caller say so."""
    return isinstance(node, p.Call) and any(
        name == "weights_only" and not (isinstance(given, p.Const) and given.value is False)
        for name, given in node.keywords
    )


def _called(call: p.Call) -> str:
    return call.func.name if isinstance(call.func, p.Attribute) else getattr(call.func, "id", "")


def _args(run: Run, call: p.Call) -> Args:
    return tuple(run.evaluate(value) if isinstance(value, p.Const) else Unknown() for value in call.args)


def _keywords(run: Run, call: p.Call) -> Keywords:
    def given() -> Iterator[tuple[str, object]]:
        for name, value in call.keywords:
            yield name or "**", run.evaluate(value) if isinstance(value, p.Const) else Unknown()

    return dict(given())  # type: ignore[arg-type]  # a literal's value is a value
