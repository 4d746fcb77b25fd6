"""Operations whose derivative is infinite at a value that their operand surely takes, and that a loss goes backward through."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from torch_doctor.static import program as p
from torch_doctor.static.domains.axes.comparing import made_of
from torch_doctor.static.domains.limits import (
    EXCUSING,
    LOGARITHMS,
    Attained,
    Bounds,
    Singular,
    guarded,
    masked_row,
    of_one,
    singular,
    tests,
)
from torch_doctor.static.domains.limits.singular import inside
from torch_doctor.static.domains.limits.span import CLAMP, EPSILON, PAIR, ROUNDING, ROW, SINGLE, TEST
from torch_doctor.static.measuring import measured
from torch_doctor.static.observer import Observer, override
from torch_doctor.static.state import per_run
from torch_doctor.static.tables import words
from torch_doctor.static.values import Either, Making, Tensor
from torch_doctor.trace import DerivativeInfinite, Limits

if TYPE_CHECKING:
    from torch_doctor.static.run import Run
    from torch_doctor.static.unit import Unit
    from torch_doctor.static.values import Call, Value

_NAMES: Final = frozenset(
    words(
        """
        sqrt sqrt_ rsqrt rsqrt_ reciprocal log log_ log2 log10 log1p acos arccos asin arcsin atanh arctanh acosh arccosh erfinv
        logit pow pow_ float_power div divide true_divide clamp clamp_ clip clip_ clamp_min clamp_min_ clamp_max clamp_max_ max
        min maximum minimum sigmoid softmax tanh log_softmax where masked_fill one_hot cdist std var triu tril
        """
    )
)
_CHOOSING: Final = frozenset(words("where masked_fill masked_fill_ * mul multiply"))
"""What leaves out some results of operations."""
_SIGNS: Final = {"pow": "**", "reciprocal": "**", "div": "/"}
"""The operators of operations that are no calls."""
_FAR: Final = 1000
"""Records behind a loss that are looked at."""


class InfiniteDerivatives(
    Observer, operated=("/", "**"), computed=tests.COMPARING, made=lambda name: name.rpartition(".")[2] in _NAMES
):
    """Asks at each backward pass for the limits of what roots, powers, quotients and the like were computed of."""

    writes = (DerivativeInfinite,)

    _places: dict[Making, tuple[Unit, p.Node]] = per_run(dict)  # where each operation stands
    _set: dict[Making, list[Value]] = per_run(dict)  # what was written into a tensor
    _seen: set[Making] = per_run(set)
    _told: set[p.Node] = per_run(set)
    _excused: set[Making] = per_run(set)  # whose NaN something replaces
    _compared: set[Making] = per_run(set)  # what the last comparison is about
    _tested: set[Making] = per_run(set)  # what has decided branches

    @override
    def operated(self, run: Run, op: str, operands: tuple[Value, ...], result: Value, node: p.Node) -> None:
        """An operator was applied."""
        self._placed(run, result, node)

    @override
    def made(self, run: Run, name: str, call: Call, result: Value) -> None:
        """A function or method was called."""
        self._placed(run, result, call.node)

    def _placed(self, run: Run, result: Value, node: p.Node) -> None:
        if isinstance(result, Tensor) and isinstance(result.meta, Making):
            self._places.setdefault(result.meta, (run.frame.unit, node))

    @override
    def computed(self, run: Run, op: str, operands: tuple[Value, ...], node: p.Node) -> None:
        """Something is compared."""
        self._compared = tests.sides(operands)

    @override
    def tested(self, run: Run, value: Value) -> None:
        """Something decides a branch: what is computed in it is not what it was made to keep out."""
        self._tested.update(self._compared, tests.tested(value))
        self._compared = set()

    @override
    def item_set(self, run: Run, holder: Value, key: Value, value: Value, node: p.Node) -> None:
        """Some numbers of a tensor are replaced by others, which have a graph."""
        made = made_of(holder)
        if made is not None and value.flow.graph is True:
            self._set.setdefault(made, []).append(value)

    @override
    def backward(self, run: Run, loss: Value, call: Call) -> None:
        """Look through the records behind a loss."""
        self._look(run, loss)

    @override
    def handed_back(self, run: Run, value: Value, function: p.Node) -> None:
        """A loss, or the output of a model, goes to callers that are out of sight."""
        self._look(run, value)

    def _look(self, run: Run, loss: Value) -> None:
        waiting = [loss]
        for _ in range(_FAR):
            if not waiting:
                return
            value = waiting.pop()
            if isinstance(value, Either):
                waiting += [option for _, option in value.options]
            made = made_of(value)
            if made is None or made in self._seen or value.flow.graph is not True:
                continue
            self._seen.add(made)
            if made.name in EXCUSING:
                self._excused |= {each for value in made.args if (each := made_of(value)) is not None}
            waiting += [*inside(made.args), *self._set.get(made, ())]
            if made in self._places or made.name in _CHOOSING:
                self._check(run, made)

    def _check(self, run: Run, made: Making) -> None:
        """Write of an operation that has an infinite derivative, or of those that a choice leaves out too late."""
        found = singular(made)
        if found is not None and _trains(made) and not tests.is_among(found.operand, self._tested):
            span = run.ask(Bounds, found.operand)
            for place in found.places:
                taken = span.at(place)
                if taken is not None and _counts(found, taken.why) and self._is_rounded(run, made, taken):
                    limits = span.limits(measured(found.operand).dtype)
                    self._tell(run, made, found, place, taken.why, taken.made, limits)
                    break
        if of_one(made) and _trains(made):
            alone = Singular(made.name, made.args[0], (1.0,))
            self._tell(run, made, alone, 1.0, SINGLE, made, Limits())
        if _trains(made) and made not in self._excused and (triangle := masked_row(made)) is not None:
            row = Singular(made.name, made.args[0], (0.0,))
            self._tell(run, made, row, 0.0, ROW, triangle, Limits())
        for each in guarded(made):
            if _trains(each.made) and each.place not in run.ask(Bounds, each.singular.operand).stops:
                self._tell(run, each.made, each.singular, each.place, TEST, made, Limits())

    def _is_rounded(self, run: Run, made: Making, taken: Attained) -> bool:
        """Whether a value that rounding gives is there in the precision at hand: other than by default, the script names it."""
        if taken.why not in (EPSILON, ROUNDING):
            return True
        text = run.main.source.text + self._places[made][0].source.text
        known = bool(run.of(Bounds).precision(taken.made))
        return "set_default_" not in text and (known or not ("double" in text or "float64" in text))

    def _tell(
        self, run: Run, made: Making, found: Singular, place: float, why: str, source: Making, limits: Limits
    ) -> None:
        if made not in self._places:
            return
        unit, node = self._places[made]
        if node in self._told:
            return
        self._told.add(node)
        made_unit, made_node = self._places.get(source, (None, None))
        made_at = source.site if made_unit is None or made_node is None else made_unit.site(made_node.at)
        run.emit(
            DerivativeInfinite,
            unit.site(node.at),
            operation=_SIGNS.get(found.operation, "") if not isinstance(node, p.Call) else found.operation,
            name=_operand(unit, node, 1 if found.operation == "div" else 0, len(made.args)),
            place=place,
            why=why,
            limits=limits,
            reached=True,
            made_at=made_at,
            made="" if made_unit is None or made_node is None else made_unit.text(made_node.at),
            by_call=isinstance(node, p.Call) and (len(node.args) == len(made.args) or not node.args),
        )


def _counts(found: Singular, why: str) -> bool:
    """Whether an operation is worth a word for this reason.

    Logarithms without a bound are unstable for other reasons, too. Quotients and arc functions do not get to a value that
    only rounding gives as easily as a power of an error does, and divisors may be masks that have no zeros.
    """
    if found.operation in LOGARITHMS:
        return why in (CLAMP, EPSILON)
    return found.operation in ("sqrt", "rsqrt", "pow") or why in (CLAMP, EPSILON, PAIR)


def _trains(made: Making) -> bool:
    """Whether gradients go through an operation to what is trained."""
    flows = [each.flow for each in made.args]
    return any(flow.graph is True and (flow.graph_forwards or flow.modules) for flow in flows)


def _operand(unit: Unit, node: p.Node, place: int, count: int) -> str:
    """The user's expression for one of the operands of an operation that has so many."""
    if isinstance(node, p.Augment):
        return unit.text((node.target, node.value)[place].at)
    if isinstance(node, p.Operation) and len(node.operands) > place:
        return unit.text(node.operands[place].at)
    if not isinstance(node, p.Call):
        return ""
    of_object = isinstance(node.func, p.Attribute) and len(node.args) < count
    operands = (node.func.value, *node.args) if of_object and isinstance(node.func, p.Attribute) else node.args
    return unit.text(operands[place].at) if len(operands) > place else ""
