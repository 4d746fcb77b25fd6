"""Terms of a loss that have no gradient for what they were computed with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static import program as p
from torch_doctor.static.domains.accounts import JOINS, Flat, Terms, derives
from torch_doctor.static.domains.axes import comparing
from torch_doctor.static.observer import Observer, override
from torch_doctor.static.program.walking import walk
from torch_doctor.static.state import per_run
from torch_doctor.static.training.module import forwards
from torch_doctor.static.values import Making, Plain, Tensor, Value
from torch_doctor.trace import GradModeEntered, GraphCut, TermCut

if TYPE_CHECKING:
    from torch_doctor.static.domains.accounts import Term
    from torch_doctor.static.run import Run
    from torch_doctor.static.unit import Unit
    from torch_doctor.static.values import Call
    from torch_doctor.trace import Site

    Place = tuple[Unit, p.Node]


class LossTerms(Observer, operated="+-*/"):
    """Remembers where values that lost a graph were made and added up, and asks for the terms of each loss."""

    writes = (TermCut,)

    _made: dict[Making, Place] = per_run(dict)  # the outermost expression that gave the value
    _summed: dict[Making, Place] = per_run(dict)  # the sum that gave it

    @override
    def called(self, run: Run, _: Value, call: Call, result: Value) -> None:
        """A call has given such a value: it may be handed on by a function that was called around it."""
        if result.__class__ is Tensor and result.flow.lost and (made := comparing.made_of(result)) is not None:
            self._made[made] = run.position.frame.unit, call.node
            if made.name in JOINS:
                self._summed.setdefault(made, self._made[made])

    @override
    def operated(self, run: Run, op: str, _: tuple[Value, ...], result: Value, node: p.Node) -> None:
        """Such a value was computed, or anything was added up."""
        lost = bool(result.flow.lost)
        made = comparing.made_of(result) if lost or op in "+-" else None
        if made is None:
            return
        here = run.position.frame.unit, node
        if lost:
            self._made[made] = here
        if op in "+-":
            self._summed[made] = here

    @override
    def backward(self, run: Run, loss: Value, call: Call) -> None:
        """A loss goes backward: write which of its terms reach less than they were computed with."""
        if loss.flow.graph is not True or not isinstance(loss, Tensor):
            return
        for terms in run.ask(Terms, loss):
            values = [each.value for each in terms]
            steps = [run.ask(Flat, value) or "" if value.flow.graph is True else "" for value in values]
            beside = [value for value, step in zip(values, steps, strict=True) if value.flow.graph is True and not step]
            for term, step in zip(terms, steps, strict=True):
                if beside and (step or term.value.flow.lost):
                    self._look(run, term, step, [value for value in beside if value is not term.value], call)

    def _look(self, run: Run, term: Term, step: str, beside: list[Value], call: Call) -> None:
        """Write of a term what it reaches, next to values that reach something; `step` is what leaves it without gradients."""
        flow = term.value.flow
        doubtful = flow.graph is None or flow.doubtful or not isinstance(term.value, (Tensor, Plain))
        if doubtful or not beside or (flow.graph is True and not flow.modules):
            return
        made = {each for value in beside if (each := comparing.made_of(value)) is not None}
        without = flow.graph is False or bool(step)
        if without and derives(term.value, made):
            return
        unit, node = self._place(run, term, call)
        within, total = self._sum_of(run, term, call)
        lost = flow.lost | flow.surely_forwards if step else flow.lost
        if flow.graph is True and not step and lost <= flow.surely_forwards:
            return  # it has their gradients in another way: only the target of a difference is cut off
        how, cut_at = (step, None) if step else _cut(run, flow.cuts, lost)
        if cut_at is not None and _sometimes(within, cut_at, total):
            return
        run.emit(
            TermCut,
            unit.site(node.at),
            name=unit.text(node.at),
            summed_at=within.site(total.at),
            backward=run.site(call.node),
            modules=frozenset() if without else flow.modules,
            others=frozenset[int]().union(*(value.flow.surely for value in beside)),
            lost=forwards.reached(run, lost),
            how=how,
            cut_at=cut_at,
        )

    def _place(self, run: Run, term: Term, call: Call) -> Place:
        """The expression of a term, or of the operand of a sum that it is."""
        made = comparing.made_of(term.value)
        if made is not None and made in self._made:
            return self._made[made]
        unit, node = self._sum_of(run, term, call)
        if isinstance(node, p.Operation) and term.place < len(node.operands):
            return unit, node.operands[term.place]
        return unit, node.value if isinstance(node, p.Augment) and term.place else node

    def _sum_of(self, run: Run, term: Term, call: Call) -> Place:
        """The sum that a term is added up in, or else where the loss goes backward."""
        known = self._summed.get(term.within) if term.within is not None else None
        return (run.position.frame.unit, call.node) if known is None else known


def _cut(run: Run, cuts: frozenset[int], lost: frozenset[int]) -> tuple[str, Site | None]:
    """What cut the graph of these forwards first, and where."""
    for event in run.trace.at(*sorted(cuts)):
        if isinstance(event, GraphCut) and event.value.graph_forwards & lost:
            return event.how, event.site
    off = [event for event in run.trace.of(GradModeEntered) if event.enabled is False]
    return (off[-1].context, off[-1].site) if off else ("", None)


def _sometimes(unit: Unit, cut: Site, total: p.Node) -> bool:
    """Whether a comparison decides if the graph is cut, and not if the term is added: it may be cut in some epochs only."""
    for node in unit.nodes if unit.site(total.at).path == cut.path else ():
        if isinstance(node, p.If) and any(isinstance(each, p.Compare) for each in walk(node.test)):
            for arm in (node.body, node.other):
                if arm and _is_in(cut.row, arm) and not _is_in(total.at[0], arm):
                    return True
    return False


def _is_in(row: int, arm: tuple[p.Stmt, ...]) -> bool:
    return arm[0].at[0] <= row <= arm[-1].at[2]
