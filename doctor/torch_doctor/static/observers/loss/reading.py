"""Who reads scores, probabilities and their logarithms, and whether the order of the numbers is all that counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from torch_doctor.static import program as p
from torch_doctor.static.measuring import size_at
from torch_doctor.static.observer import Observer, override
from torch_doctor.static.state import per_run
from torch_doctor.static.tables import libraries, losses, readers
from torch_doctor.static.tables.canonical import canonical
from torch_doctor.static.values import (
    Bound,
    ClassValue,
    Const,
    Distribution,
    Either,
    FunctionValue,
    Instance,
    Lib,
    Mapping,
    Method,
    Module,
    Partial,
    Plain,
    Sequence,
    Tensor,
    Tool,
    Unknown,
    Value,
    leaves,
)
from torch_doctor.trace import Kind, ScoresRead

if TYPE_CHECKING:
    from collections.abc import Iterable

    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Call

_SHARES: Final = frozenset((Kind.PROBABILITIES, Kind.BOUNDED))
_KINDS: Final = _SHARES.union((Kind.LOGITS, Kind.HIDDEN, Kind.LOG_PROBABILITIES, Kind.LOG_BOUNDED))
_FOLLOWED: Final = (FunctionValue, Bound, ClassValue)
_OPEN: Final = (Sequence, Mapping, Instance, Module)
"""Holders of which the witness knows what lies in them: to put something there reads nothing."""
_RANKING: Final = frozenset((*readers.ORDER, *readers.METRICS))
_HOLDING: Final = frozenset((Sequence, Mapping, Either))
_LOSSES: Final = frozenset(losses.LOSSES)


class OutputReading(Observer, computed=lambda op: op not in ("is", "is not")):
    """Readers of what a model gives: comparisons, arithmetic, functions, texts, files, and code that nobody can follow.

    What gives the same numbers on, in another form, reads nothing: its own readers are seen.
    """

    writes = (ScoresRead,)

    _seen: set[tuple[object, ...]] = per_run(set)
    _arrays: dict[p.Node, list[ScoresRead]] = per_run(dict)  # reads that make an array, by their node
    _given: dict[int, list[Tensor]] = per_run(dict)  # what a whole module gives, by its number
    _exported: dict[int, tuple[str, p.Node]] = per_run(dict)  # modules that code out of sight got, by their number

    @override
    def called(self, run: Run, func: Value, call: Call, result: Value) -> None:
        """A function or method gets scores, or a model that gives some."""
        if _is_followed(func) or isinstance(func, Module):
            return
        name = _name(func, call)
        self._export(run, func, name, call)
        short = name.rpartition(".")[2]
        if short in _RANKING:
            self._in_order(run, call, short)
        if name in _LOSSES or short in readers.NEUTRAL or _stores(func, short):
            return
        scores = _scores([func.of, *call.values] if isinstance(func, Method) else call.values)
        if not scores:
            return
        others = [value for value in call.args if not isinstance(value, Const)]
        mixed = short in readers.MIXING
        read = [each for each in scores if mixed or not _goes_on(each, result)]
        if short in readers.LIKE and isinstance(func, Method) and others:
            read = [each for each in read if all(each is not other for other in others)]
        if short in readers.ORDER and _has_places(result):
            dim = _along(call.with_first(func.of) if isinstance(func, Method) else call, short)
            for each in scores:
                self._write(run, each, call.node, name, order=True, dim=dim)
        elif read:
            order = short in readers.METRICS
            share = (
                short in readers.SHARES
                or (short in readers.COMPARING and any(map(_is_share, call.values)))
                or (short in readers.DISTRIBUTIONS and "logits" not in call.keywords)
            )
            events = [self._write(run, each, call.node, name, order=order, share=share) for each in read]
            if short == "numpy":
                self._arrays[call.node] = [event for event in events if event is not None]

    @override
    def left(self, run: Run, module: Module, call: Call, output: Value) -> None:
        """A layer of torch gets scores, or a whole model gives some."""
        if module.cls is not None or module.layer == "torch.nn.Sequential":
            given = _scores((output,))
            if given:
                self._given[module.id] = given
                if module.id in self._exported:
                    self._hand_out(run, module.id)
        elif module.layer not in losses.CLASSES:
            for each in _scores(call.values):
                if not _goes_on(each, output):
                    self._write(run, each, call.node, module.layer)

    @override
    def computed(self, run: Run, op: str, operands: tuple[Value, ...], node: p.Node) -> None:
        """Scores are compared, or go where `operated` is not told of the result."""
        text = isinstance(operands[0], Const) and isinstance(operands[0].value, str)
        told = any(isinstance(value, Tensor) for value in operands) and not (op == "%" and text)
        if told and not isinstance(node, p.Compare):
            return
        share = any(map(_is_share, operands))
        for each in _scores(operands):
            self._write(run, each, node, op, share=share)

    @override
    def operated(self, run: Run, op: str, operands: tuple[Value, ...], result: Value, node: p.Node) -> None:
        """Scores are computed with; a number beside them may leave what they mean."""
        beside = [value for value in operands if not isinstance(value, (Const, Plain))]
        for each in _scores(operands):
            if len(beside) > 1 or not _goes_on(each, result):
                self._write(run, each, node, op)

    @override
    def shown(self, run: Run, values: tuple[Value, ...], node: p.Node) -> None:
        """Scores become part of a text."""
        self._all(run, values, node, "text")

    @override
    def item_set(self, run: Run, holder: Value, _: Value, value: Value, node: p.Node) -> None:
        """Scores are put into something of which nobody knows what is in it."""
        if not isinstance(holder, _OPEN):
            self._all(run, (value,), node, "[]")

    @override
    def attribute_set(self, run: Run, holder: Value, target: p.Attribute, value: Value, node: p.Node) -> None:
        """The same, by an attribute."""
        if not isinstance(holder, _OPEN):
            self._all(run, (value,), node, target.name)

    @override
    def handed_back(self, run: Run, value: Value, function: p.Node) -> None:
        """Callers out of sight get scores."""
        self._all(run, (value,), function, "return")

    def _all(self, run: Run, values: Iterable[Value], node: p.Node, by: str) -> None:
        for each in _scores(values):
            self._write(run, each, node, by)

    def _write(
        self,
        run: Run,
        tensor: Tensor,
        node: p.Node,
        by: str,
        *,
        order: bool = False,
        share: bool = False,
        dim: int | None = None,
    ) -> ScoresRead | None:
        """Write that a tensor is read; once for each place and each tensor that was made at one."""
        if tensor.kind not in _SHARES and not share and run.modules_called:
            return None  # within a model, layers read scores all the time
        key = run.site(node), by, tensor.kind, tensor.origin.site, tensor.flow.forwards, dim
        if key in self._seen:
            return None
        self._seen.add(key)
        event: ScoresRead = run.emit(ScoresRead, node, input=run.fact(tensor), by=by, order=order, share=share, dim=dim)
        return event

    def _in_order(self, run: Run, call: Call, short: str) -> None:
        """Arrays that were made just for a function which looks at their order alone are read so."""
        node = call.node
        if not isinstance(node, p.Call):
            return
        method = isinstance(node.func, p.Attribute) and node.func.value in self._arrays
        places = [node.func.value] if method and isinstance(node.func, p.Attribute) else list(node.args)
        dim = _along(call.with_first(Unknown()) if method else call, short) if short in readers.ORDER else None
        for place in places:
            for event in self._arrays.pop(place, ()):
                run.trace.replace(event, order=True, dim=dim)

    def _export(self, run: Run, func: Value, name: str, call: Call) -> None:
        """Code out of sight gets a model, which it may call, or a file for others to call."""
        modules = [value for value in call.values if isinstance(value, Module)]
        if not modules:
            return
        predicts = isinstance(func, Method) and func.name == readers.PREDICTS
        unseen = (
            predicts
            or isinstance(func, Unknown)
            or (
                isinstance(func, Lib)
                and (
                    name in (*readers.EXPORTS, readers.PICKLES)
                    or not (libraries.harmless(name) or libraries.heard_of(name))
                )
            )
        )
        for module in modules if unseen else ():
            if name != readers.PICKLES or module.cls is None:
                self._exported[module.id] = name, call.node
                self._hand_out(run, module.id)

    def _hand_out(self, run: Run, number: int) -> None:
        by, node = self._exported[number]
        for each in self._given.get(number, ()):
            self._write(run, each, node, by)


def _is_followed(func: Value) -> bool:
    """Whether what is called is executed: its own reads are seen."""
    if isinstance(func, Either):
        return all(_is_followed(option) or isinstance(option, Module) for _, option in func.options)
    if isinstance(func, Partial):
        return _is_followed(func.func)
    return isinstance(func, _FOLLOWED) or (isinstance(func, Instance) and func.cls.find("__call__") is not None)


def _name(func: Value, call: Call) -> str:
    if isinstance(func, Lib):
        return canonical(func.name).removeprefix("builtins.")
    return func.name if isinstance(func, (Method, Tool, Distribution)) else call.method or call.name


def _stores(func: Value, short: str) -> bool:
    """Whether a container gets something, which it gives back as it is."""
    return isinstance(func, Method) and isinstance(func.of, _OPEN) and short in readers.STORING


def _scores(values: Iterable[Value]) -> list[Tensor]:
    """The scores among values."""
    found: list[Tensor] = []
    for value in values:
        inside = leaves(value) if value.__class__ in _HOLDING else (value,)
        scores = [each for each in inside if isinstance(each, Tensor) and each.kind in _KINDS]
        if scores and ((flow := value.flow).forwards or flow.graph is True):
            found += scores
    return found


def _goes_on(tensor: Tensor, result: Value) -> bool:
    """Whether a result has the numbers of a tensor, with what they mean."""
    return any(
        isinstance(each, Tensor) and each.kind is tensor.kind and each.origin.site == tensor.origin.site
        for each in leaves(result)
    )


def _has_places(result: Value) -> bool:
    return any(isinstance(each, Tensor) and each.kind is Kind.LABELS for each in leaves(result))


def _along(call: Call, short: str) -> int | None:
    """The dimension along which the largest are looked for; None where it is not given or not known."""
    dim = call.argument(readers.POSITIONS.get(short, 1), "dim", "axis")
    if dim is None:
        return -1 if short in readers.LAST else None
    along = size_at(dim)
    return along if isinstance(along, int) else None


def _is_share(value: Value) -> bool:
    """Whether it is a number to which a probability is compared, not a score."""
    number = value.value if isinstance(value, Const) else None
    return isinstance(number, float) and 0 < number < 1
