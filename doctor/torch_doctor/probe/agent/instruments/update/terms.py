"""Terms of losses: which parameters the gradient of each reaches, and which terms have none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ...rehearsal import rehearsals
from ...watching.graphs import MOST, SUMS, TOTALS
from ...watching.marks import noted, on_node
from ..instrument import Instrument as Base
from .other_outputs import with_other_outputs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ...scopes import Here
    from ...watching.watch import Watch

PASSES = 8  # backward passes of one place that are looked at
COPIES = 2  # copies of the process that are asked for other values
APART = 1e-3  # how far another value is off, relative to the larger one: several threads round otherwise than one
ADDING = (
    "__add__",
    "__radd__",
    "__iadd__",
    "__sub__",
    "__rsub__",
    "__isub__",
    "add",
    "add_",
    "sub",
    "sub_",
    "subtract",
)
TURNED = ("__radd__", "__rsub__")
JOINING = ("stack", "cat", "hstack", "concat")
LINEAR = SUMS | frozenset(
    f"{name}Backward"
    for name in (
        "Mul",
        "Div",
        "Sum",
        "Mean",
        "Rsub",
        "Stack",
        "Cat",
        "View",
        "Squeeze",
        "Unsqueeze",
        "Select",
        "Unbind",
    )
)
"""Nodes through which a term of a sum stays one."""
STEPS = frozenset(f"{name}Backward" for name in ("Round", "Floor", "Ceil", "Trunc", "Sign", "Sgn", "Heaviside"))
"""Nodes that let no gradient through."""


class Operand(NamedTuple):
    """What was added up at a site, at which position: its value where it has no graph, and whether that is a plain number."""

    site: int
    place: int
    value: float | None
    plain: bool


class Added(NamedTuple):
    """An operand of a sum with the tensors that its gradient reaches; None where they are not known.

    `node` and `output` are where the graph of one that has a graph begins.
    """

    operand: Operand
    leaves: list[Any] | None
    node: Any = None
    output: int = 0

    def edge(self, torch: Any) -> Any:
        """Where its graph begins, as autograd takes it."""
        return torch.autograd.graph.GradientEdge(self.node, self.output)


class Instrument(Base):
    """Notes what is added up, on the node of the sum, and goes through the sums behind each loss."""

    def __init__(self, watch: Watch) -> None:
        super().__init__(watch)
        self._passes: dict[int, int] = {}
        self._seen: dict[tuple[int, int, int], tuple[int, set[float]]] = {}
        self._doubtful: set[tuple[int, int, int]] = set()  # terms that have had one value so far
        self._copies = 0
        self._otherwise: dict[tuple[int, int, int], float] = {}  # what they would be now, with other outputs
        self._tensor = watch.torch.Tensor
        for name in ADDING:
            watch.patches.replace(self._tensor, name, self._wrapping)
            if not name.endswith("_"):
                watch.patches.replace(watch.torch, name, self._wrapping)
        for name in JOINING:
            watch.patches.replace(watch.torch, name, self._wrapping)

    def _wrapping(self, original: Any) -> Any:
        recorder = self.watch.recorder
        turned = original.__name__ in TURNED

        def combine(*arguments: Any, **keywords: Any) -> Any:
            made = original(*arguments, **keywords)
            if isinstance(made, self._tensor) and made.grad_fn is not None and made.dim() <= 1 and self._listens():
                recorder.safely(self._note, made, arguments[::-1] if turned else arguments)
            return made

        return combine

    def _listens(self) -> bool:
        """Whether sums are noted: those of the script, also in a copy of the process that rehearses."""
        return self.watch.recorder.quiet == rehearsals.under_way

    def _note(self, made: Any, arguments: tuple[Any, ...]) -> None:
        """Notes the operands of a sum."""
        recorder = self.watch.recorder
        frame = recorder.sites.frame(3)
        if frame is None or recorder.rests():
            return
        site = recorder.sites.of_frame(frame)
        listed = arguments[0] if isinstance(arguments[0], (tuple, list)) else arguments[:2]
        with self.watch.unwatched():
            operands = [
                Operand(site, place, self._value(each), not isinstance(each, self._tensor))
                for place, each in enumerate(listed)
            ]
        if made is listed[0] and made.grad_fn.next_functions[0][0] is None:  # in place: it had no graph before
            operands[0] = operands[0]._replace(value=0.0)
        on_node(made.grad_fn)["operands"] = operands

    def _value(self, operand: Any) -> float | None:
        """The sum of what has no graph; None of what has one."""
        if isinstance(operand, self._tensor):
            return None if operand.requires_grad else float(operand.detach().double().sum())
        return float(operand) if hasattr(operand, "__float__") and getattr(operand, "size", 1) == 1 else 0.0

    def on_forward(
        self, module: Any, arguments: tuple[Any, ...], keywords: dict[str, Any], output: Any, here: Here, event: int
    ) -> None:
        """A model answered: would terms that had one value so far have another one, had it answered otherwise?"""
        asked = bool(self._otherwise) or self._copies >= COPIES or not self.watch.torch.is_grad_enabled()
        if not self._doubtful or asked or not self.watch.modules.family(module).parameters:
            return
        self._copies += 1
        found = with_other_outputs(self.watch, output, lambda loss: [[*key, value] for key, value in _plain(loss)])
        self._otherwise = {tuple(key): value for *key, value in found or ()}

    def before_backward(self, losses: list[Any], here: Here) -> None:
        """A loss goes backward: write of its terms, if there are several, what each of them reaches."""
        passes = self._passes[here.site] = self._passes.get(here.site, 0) + 1
        if passes > PASSES:
            return
        terms = [term for loss in losses if loss.grad_fn is not None for term in terms_of(loss.grad_fn)]
        if len(terms) < 2 or any(term.leaves is None for term in terms):  # noqa: PLR2004 - one term is the loss
            return
        reached = [frozenset() if not term.leaves else self.watch.modules.owners(term.leaves, here) for term in terms]
        counted: dict[tuple[int, int], int] = {}
        for number, (term, modules) in enumerate(zip(terms, reached, strict=True)):
            site, place, value, _ = term.operand
            again = counted[site, place] = counted.get((site, place), 0) + 1
            times, values = self._seen.setdefault((site, place, again), (0, set()))
            if value is not None:
                values.add(value)
                self._ask(term.operand, (site, place, again), times + 1, values)
            self._seen[site, place, again] = times + 1, values
            others = frozenset[int]().union(*(each for other, each in enumerate(reached) if other != number))
            self.watch.recorder.event(
                "TermCut",
                here,
                site=site,
                name="",
                summed_at=site,
                backward=here.site,
                modules=sorted(modules),
                others=sorted(others),
                passes=times + 1,
                values=len(values),
            )
        self._otherwise.clear()

    def _ask(self, operand: Operand, key: tuple[int, int, int], passes: int, values: set[float]) -> None:
        """Take in what a term would have been with other outputs; ask for it if a finding is about one that stays the same."""
        other = self._otherwise.get(key)
        if other is not None and all(abs(other - each) > APART * max(abs(other), abs(each)) for each in values):
            values.add(other)
        span, places = self.watch.recorder.span(operand.site), self.watch.recorder.plan.get("places") or {}
        asked = any(span.row <= row <= span.end_row for row in places.get(span.path, ()))
        if asked and not operand.plain and passes > 1 and len(values) == 1:
            self._doubtful.add(key)
        else:
            self._doubtful.discard(key)


def _plain(loss: Any) -> Iterator[tuple[tuple[int, int, int], float]]:
    """The values of the terms of a loss that have no graph."""
    counted: dict[tuple[int, int], int] = {}
    for term in terms_of(loss.grad_fn):
        site, place, value, _ = term.operand
        again = counted[site, place] = counted.get((site, place), 0) + 1
        if value is not None:
            yield (site, place, again), value


def terms_of(root: Any, splits: Callable[[int, bool], bool] = lambda *_: True) -> Iterator[Added]:
    """The terms behind the node of a loss, the last one first.

    `splits` says of the site of a sum whether to go into it; it is told whether the sum is a term itself.
    """
    waiting: list[tuple[Any, Operand | None, tuple[Any, int]]] = [(root, None, (root, 0))]
    seen = set[Any]()
    while waiting and len(seen) < MOST:
        node, operand, begin = waiting.pop()
        if node in seen:
            if operand is not None:
                yield Added(operand, leaves_of(node), *begin)
            continue
        seen.add(node)
        operands = (noted(node) or {}).get("operands")
        operands = operands if operands and splits(operands[0].site, operand is not None) else None
        following = [after for after in node.next_functions if after[0] is not None]
        bare = node.name().rstrip("0123456789")
        if operands is not None:
            with_graph = [each for each in operands if each.value is None]
            yield from (Added(each, []) for each in operands if each.value is not None)
            if len(with_graph) != len(following):
                yield from (Added(each, None) for each in with_graph)
            else:
                waiting += [(after[0], each, after) for after, each in zip(following, with_graph, strict=True)]
        elif (bare in LINEAR or node.name() in TOTALS) and len(following) == 1:
            waiting.append((following[0][0], operand, begin))
        elif operand is not None:
            yield Added(operand, leaves_of(node), *begin)


def leaves_of(root: Any) -> list[Any] | None:
    """The tensors that gradients reach from a node; None where a function of somebody's own is between."""
    waiting: list[Any] = [root]
    seen, found = {root}, list[Any]()
    while waiting:
        node = waiting.pop()
        variable = getattr(node, "variable", None)
        if variable is not None:
            found.append(variable)
            continue
        if len(seen) > MOST or hasattr(node, "_forward_cls"):
            return None  # a checkpoint, a compiled function, a derivative written by hand
        if node.name().rstrip("0123456789") in STEPS:
            continue
        fresh = [after for after, _ in node.next_functions if after is not None and after not in seen]
        seen.update(fresh)
        waiting += fresh
    return found
