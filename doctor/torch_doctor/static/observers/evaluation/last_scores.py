"""Scores of single batches that are used when the loop over the batches is over: every batch has overwritten the last one's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct

from torch_doctor.static import libraries
from torch_doctor.static import program as p
from torch_doctor.static.libraries.lightning import OWN_LOGS
from torch_doctor.static.observer import Named, Observer, override
from torch_doctor.static.observers.evaluation.batch_scores import in_the_loop, loop_left, parts_of
from torch_doctor.static.observers.evaluation.known_scores import FOLLOWED, KnownScores, far
from torch_doctor.static.program.influence import never_read
from torch_doctor.static.program.walking import walk
from torch_doctor.static.state import per_path, per_run
from torch_doctor.static.tables.canonical import among, canonical
from torch_doctor.static.tables.sinks import SINKS
from torch_doctor.static.values import (
    Const,
    Lib,
    Method,
    Module,
    Plain,
    Sequence,
    Tool,
    Unknown,
    UnknownAttribute,
    Zero,
)
from torch_doctor.trace import DECIDING, ScoreUsed

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, MutableSet

    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Call, Value
    from torch_doctor.trace import Site

_ORDERING: Final = frozenset(("<", ">", "<=", ">="))
_SHOWING: Final = frozenset(("builtins.print",))
_LOGGING: Final = frozenset(libraries.every(lambda library: library.loggers))
_COLLECTING: Final = frozenset(("append", "add"))


class _Assigned(Struct, frozen=True):
    """A name that a score got, and where."""

    site: Site
    name: str
    forwards: frozenset[int]
    roots: frozenset[Hashable]


class LastScores(
    Observer,
    called=(Named(Lib, lambda name: canonical(name).startswith(FOLLOWED)), Method, UnknownAttribute, Tool, Plain),
    invoked=(Named(Lib, among({*_SHOWING, *_LOGGING, *SINKS})), Method),
    computed=("+", "-", "%", *_ORDERING),
):
    """Follows losses and metrics of single batches, to where they are shown, compared, kept or handed to a schedule.

    A score that is also added up or collected within the loop is shown beside the sum and left alone, unless nothing reads the
    sum, or the score decides something.
    """

    writes = (ScoreUsed,)

    _assigned: MutableSet[_Assigned] = per_path(set)
    _collected: set[Hashable] = per_run(set)  # roots that are added up
    _mixed: set[Hashable] = per_run(set)  # roots that scores of other batches are added to
    _vain: dict[p.Node, bool] = per_run(dict)  # by the additions to names
    _told: set[tuple[p.Node, frozenset[int]]] = per_run(set)
    _assignments: set[p.Node] = per_run(set)  # the targets of assignments
    _items: set[tuple[str, frozenset[int]]] = per_run(set)  # targets of later loops, over the scores of all batches

    # --- what is followed ---

    @override
    def called(self, run: Run, func: Value, call: Call, result: Value) -> None:
        """Follow results of forwards through functions that are known."""
        if isinstance(func, (UnknownAttribute, Tool)) or (isinstance(func, Method) and isinstance(func.of, Unknown)):
            self._collect(run, call.values)
        run.of(KnownScores).follow(func, call, result)

    # --- where scores go ---

    @override
    def bound(self, run: Run, target: p.Name, value: Value) -> None:
        """Tell apart what goes through the scores of all batches, when these are over: its target is each of them in turn."""
        for part in parts_of((value,)) if target not in self._assignments else ():
            known = run.of(KnownScores).score(part)
            if known is not None and loop_left(run, known.forwards):
                self._items.add((target.id, known.forwards))

    @override
    def assigned(self, run: Run, node: p.Assign, value: Value) -> None:
        """Remember which names scores get in the loop itself, and which attributes in what is called there."""
        self._assignments.update(each for target in node.targets for each in walk(target))
        attributes = all(isinstance(each, p.Attribute) for target in node.targets for each in _targets(target))
        if run.loop_depth and in_the_loop(run.scope, called=attributes):
            read = {each.id for each in walk(node.value) if isinstance(each, p.Name)}
            known = run.of(KnownScores).score(value)
            if known is not None and any(isinstance(each, p.Name) and each.id in read for each in node.targets):
                self._mixed |= known.roots  # it is computed of what the name was for earlier batches
            for target in node.targets:
                self._named(run, target, value, run.site(node))

    def _named(self, run: Run, target: p.Expr, value: Value, site: Site) -> None:
        if isinstance(target, p.Display) and isinstance(value, Sequence):
            for part, item in zip(target.items, value.content.items, strict=False):
                self._named(run, part, item, site)
            return
        known = run.of(KnownScores).score(value)
        if known is not None:
            self._assigned.add(_Assigned(site, run.text(target), known.forwards, known.roots))

    @override
    def computed(self, run: Run, op: str, operands: tuple[Value, ...], node: p.Node) -> None:
        """Sums that scores go into, comparisons that they decide, and texts of them."""
        if op in "+-":
            sums = (Plain, Unknown, Zero, Sequence)
            scores = [run.of(KnownScores).score(value) for value in operands]
            others = [value for value, score in zip(operands, scores, strict=True) if score is None]
            if far(scores):
                now = [score for score in scores if score is not None and not loop_left(run, score.forwards)]
                self._mixed.update(*(score.roots for score in now))
            elif any(isinstance(each, sums) or each.flow.sums for each in others) and not self._in_vain(run, node):
                self._collect(run, operands)
        elif op in _ORDERING:
            self._use(run, operands, "compared", node)
        elif op == "%" and isinstance(operands[0], Const) and isinstance(operands[0].value, str):
            self._use(run, operands[1:], "shown", node)

    @override
    def shown(self, run: Run, values: tuple[Value, ...], node: p.Node) -> None:
        """Texts of scores."""
        self._use(run, values, "shown", node)

    @override
    def invoked(self, run: Run, func: Value, call: Call) -> None:
        """Prints, logs, schedules and lists that are given scores."""
        if isinstance(func, Lib):
            self._use(run, call.values, "shown" if canonical(func.name) in _SHOWING else "logged", call.node)
        elif isinstance(func, Method):
            if isinstance(func.of, Const) and func.name == "format":
                self._use(run, call.values, "shown", call.node)
            elif isinstance(func.of, Sequence) and func.name in _COLLECTING:
                if not self._use(run, call.values, "kept", call.node):
                    self._collect(run, call.values)
            elif isinstance(func.of, Module) and func.name in OWN_LOGS:
                self._use(run, call.values, "logged", call.node)
            elif isinstance(func.of, Tool):
                how = "given to a scheduler" if func.name == "step" else "logged"
                self._use(run, call.values, how, call.node)

    @override
    def attribute_set(self, run: Run, _: Value, __: p.Attribute, value: Value, node: p.Node) -> None:
        """Attributes that get a score."""
        self._use(run, (value,), "kept", node)

    @override
    def item_set(self, run: Run, _: Value, __: Value, value: Value, node: p.Node) -> None:
        """Items of a table that get a score."""
        self._use(run, (value,), "kept", node)

    def _use(self, run: Run, values: Iterable[Value], how: str, node: p.Node) -> bool:
        """Write that scores are used behind their loop; whether there are any."""
        used = False
        for value in parts_of(values):
            known = run.of(KnownScores).score(value)
            loop = 0 if known is None else loop_left(run, known.forwards)
            if known is None or not loop:
                continue
            used = True
            assigned = [each for each in self._assigned if each.forwards == known.forwards and each.roots & known.roots]
            beside = known.roots & self._collected and how not in DECIDING
            if not assigned or beside or known.roots & self._mixed or (node, known.forwards) in self._told:
                continue
            names = {run.text(part) for part in walk(node) if isinstance(part, (p.Attribute, p.Index))}
            names |= {part.id for part in walk(node) if isinstance(part, p.Name)}
            if any((name, known.forwards) in self._items for name in names):
                continue
            self._told.add((node, known.forwards))
            by_name = [each for each in assigned if each.name in names]
            last = max(by_name or assigned, key=lambda each: (each.site.row, each.site.column))
            told = run.of(KnownScores).tallies
            tallies = frozenset(told[root] for root in known.roots & told.keys())
            of = {"forwards": known.forwards, "loop": loop, "tallies": tallies}
            run.emit(ScoreUsed, node, holder=last.name, assigned=last.site, how=how, **of)
        return used

    def _collect(self, run: Run, values: Iterable[Value]) -> None:
        for value in parts_of(values):
            known = run.of(KnownScores).score(value)
            if known is not None and not loop_left(run, known.forwards):
                self._collected |= known.roots

    def _in_vain(self, run: Run, node: p.Node) -> bool:
        """Whether this adds to a name that nobody reads."""
        if not isinstance(node, p.Augment) or not isinstance(node.target, p.Name):
            return False
        if node not in self._vain:
            body = run.stack[-1].node.body if run.stack else run.frame.unit.program.body
            self._vain[node] = never_read(body, node.target.id)
        return self._vain[node]


def _targets(target: p.Expr) -> tuple[p.Expr, ...]:
    return target.items if isinstance(target, p.Display) else (target,)
