"""Targets that keep their graph: what a network says of later inputs, and what a teacher says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct

from torch_doctor.static import program as p
from torch_doctor.static.observer import Observer, override
from torch_doctor.static.state import per_run
from torch_doctor.static.tables import words
from torch_doctor.static.training.loss import subtracting
from torch_doctor.static.training.module import module_parts, written_forwards
from torch_doctor.static.values import Const, Fact, Making, Module, Tensor
from torch_doctor.trace import TargetKept

if TYPE_CHECKING:
    from torch_doctor.static.run import Run
    from torch_doctor.static.training.loss.subtracting import SignedTerm
    from torch_doctor.static.values import Args, Call, Value
    from torch_doctor.trace import Site

_DISTANCES: Final = frozenset(words("mse_loss l1_loss smooth_l1_loss huber_loss MSELoss L1Loss SmoothL1Loss HuberLoss"))
_DISTILLING: Final = _DISTANCES | {"kl_div", "KLDivLoss"}
_PAIR: Final = 2


class _Target(Struct, frozen=True):
    """The forwards of what is learned, those behind its target, and which operand of the difference the target is."""

    learned: frozenset[int]
    behind: frozenset[int]
    operand: int


class KeptTargets(Observer, operated="-"):
    """Asks at each backward pass whether a difference in the loss has a target with a graph."""

    writes = (TargetKept,)

    _nodes: dict[Making | Site, p.Node] = per_run(dict)  # where differences are computed, and losses
    _given: dict[int, Args] = per_run(dict)  # what each forward got
    _told: set[p.Node] = per_run(set)

    @override
    def entered(self, run: Run, module: Module, call: Call) -> None:
        """A whole module is called."""
        event = None if run.modules_called else written_forwards.last(run)
        if event is not None and event.module == module.id:
            self._given[event.index] = call.values

    @override
    def operated(self, run: Run, op: str, operands: tuple[Value, ...], result: Value, node: p.Node) -> None:
        """Two outputs are subtracted."""
        made = subtracting.record(result)
        if made is not None and len(operands) == _PAIR and all(each.flow.graph_forwards for each in operands):
            self._nodes[made] = node

    @override
    def lossed(self, run: Run, values: tuple[Value, ...], node: p.Node) -> None:
        """A loss compares two outputs."""
        if len(values) >= _PAIR and all(each.flow.graph_forwards for each in values[:_PAIR]):
            self._nodes[run.site(node)] = node

    @override
    def backward(self, run: Run, loss: Value, call: Call) -> None:
        """Look into the loss for targets with a graph."""
        if not self._nodes or loss.flow.graph is not True:
            return
        compared = list(subtracting.differences(loss))
        for value, made in compared:
            origin = value.origin if isinstance(value, Tensor) else None
            of_loss = origin is not None and made.name == subtracting.LOSS
            node = self._nodes.get(origin.site if of_loss and origin is not None and origin.site else made)
            if node is None or node in self._told:
                continue
            kind = origin.operation.rpartition(".")[2] if of_loss and origin is not None else ""
            found = _bootstrapped(made) if not of_loss or kind in _DISTANCES else None
            others = (other for _, other in compared if other is not made)
            unseen = found is not None and any(forwards & found.behind for forwards, _ in loss.flow.parts)
            if found is not None and not unseen and not any(_has_it_without(other, found) for other in others):
                self._tell(run, node, call, "bootstrap", found)
            elif found is None and (not of_loss or kind in _DISTILLING):
                for target in _taught(made, either=not of_loss):
                    self._tell(run, node, call, "teacher", target)

    def _tell(self, run: Run, node: p.Node, call: Call, sort: str, found: _Target) -> None:
        """Write of a target that keeps its graph."""
        own = written_forwards.numbered(run, found.learned)
        behind = written_forwards.numbered(run, found.behind)
        if not own or not behind:
            return
        learners, modules = {each.module for each in own}, {each.module for each in behind}
        if sort == "bootstrap" and not all(self._apart(one.index, other.index) for one in own for other in behind):
            return
        if sort == "teacher" and (learners & modules or not all(map(_is_known, self._modules(run, modules)))):
            return
        self._told.add(node)
        run.emit(
            TargetKept,
            node,
            name=_text(run, node, found.operand),
            sort=sort,
            learners=_owners(run, learners),
            modules=_owners(run, modules & learners or modules),
            own=bool(learners & modules),
            network=next(
                (each.name for each in reversed(behind) if each.module in (modules & learners or modules)), ""
            ),
            operand=found.operand,
            backward_at=run.site(call.node),
        )

    def _apart(self, one: int, other: int) -> bool:
        """Whether two forwards, by their numbers, surely got other inputs."""
        given, others = self._given.get(one, ()), self._given.get(other, ())
        return bool(given) and bool(others) and given[0] is not others[0]

    def _modules(self, run: Run, numbers: set[int]) -> list[object]:
        return [run.objects.get(number) for number in numbers]


def _bootstrapped(made: Making) -> _Target | None:
    """The target of a difference, where it is something given and a part of a later output.

    None where a difference has any other form.
    """
    terms = subtracting.terms(made)
    with_graph = [term for term in terms if term.forwards]
    learned = [term for term in with_graph if not term.scaled]
    later = [term for term in with_graph if term.scaled]
    signs = {term.positive for term in learned}
    first = next((term for term in later if term.positive not in signs), None)
    forms = all(term.selected for term in learned) and len({term.forwards for term in learned}) == len(signs) == 1
    given = {term.positive for term in terms if _is_given(term)}
    if first is None or not forms or given != {first.positive}:
        return None
    behind = frozenset[int]().union(*(term.forwards for term in later))
    certain = learned[0].value.flow.graph is True and all(term.value.flow.graph is True for term in later)
    if not certain or behind & learned[0].forwards:
        return None
    return _Target(learned[0].forwards, behind, 0 if first.positive else 1)


def _taught(made: Making, *, either: bool) -> list[_Target]:
    """The target of a loss, where it is an output as its input is; of a difference, `either` operand may be it."""
    left, right = (each.flow for each in made.args[:2])
    if not left.graph is right.graph is True or left.graph_forwards & right.graph_forwards:
        return []
    found = [_Target(left.graph_forwards, right.graph_forwards, 1)]
    return [*found, _Target(right.graph_forwards, left.graph_forwards, 0)] if either else found


def _has_it_without(made: Making, found: _Target) -> bool:
    """Whether another difference has the same target for the same output, perhaps without its graph: both gradients are wanted."""
    terms = subtracting.terms(made)
    learned = any(term.forwards == found.learned for term in terms)
    return learned and any(
        term.value.flow.forwards & found.behind and term.value.flow.graph is not True for term in terms
    )


def _is_given(term: SignedTerm) -> bool:
    """Whether a term is no output, and no number that the script writes out: a reward."""
    return not isinstance(term.value, Const) and not term.value.flow.forwards


def _is_known(thing: object) -> bool:
    return isinstance(thing, Module) and not thing.fact(Fact.HANDED_IN) and bool(thing.cls or thing.layer)


def _owners(run: Run, numbers: set[int]) -> frozenset[int]:
    modules = [thing for number in numbers if isinstance(thing := run.objects.get(number), Module)]
    return frozenset[int]().union(*(module_parts.parts_of(run, module).owners for module in modules))


def _text(run: Run, node: p.Node, operand: int) -> str:
    """The user's expression for the target."""
    if isinstance(node, p.Operation) and len(node.operands) > operand:
        return run.text(node.operands[operand])
    return run.text_of_argument(node, operand, ("input", "target")[operand])
