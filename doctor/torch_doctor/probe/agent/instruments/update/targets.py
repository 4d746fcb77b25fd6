"""Targets of losses: whether gradients go through what a prediction is to become like."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ...watching.graph_kinds import PARTIAL, SAME
from ...watching.graphs import behind
from ...watching.marks import noted
from ..instrument import Instrument as Base

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...scopes import Here
    from ...watching.watch import Watch

MOST = 3  # backward passes of one place whose losses are looked at
LATEST = 16  # losses whose sides are remembered
NODES = 200  # of a loss, and of a difference in it
DISTANCES = ("MseLoss", "L1Loss", "SmoothL1Loss", "HuberLoss")
DISTILLING = (*DISTANCES, "KlDiv")
SQUARES = frozenset(("PowBackward", "AbsBackward", "LinalgVectorNormBackward", "NormBackward"))
PASSING = SAME | PARTIAL | {"MaxBackward", "MinBackward", "SumBackward"}
"""Nodes that select, arrange or add up numbers of one tensor."""


class Term(NamedTuple):
    """A summand of a difference: its node, None where it has no graph; its sign, and whether it has a factor."""

    node: Any
    positive: bool
    scaled: bool


class Instrument(Base):
    """Looks for differences in the graph of each loss before gradients are computed."""

    def __init__(self, watch: Watch) -> None:
        super().__init__(watch)
        self._looked: dict[int, int] = {}  # how often, by the site
        self._without: dict[int, Here] = {}  # backward passes of losses whose targets had no graph
        self._unclear: dict[int, Here] = {}  # those of which it is not clear what the target is
        self._kept: set[tuple[int, bool]] = set()
        self._sides: dict[Any, tuple[Any, Any]] = {}  # what losses that were not gone back through yet compare

    def on_loss(
        self, loss: str, arguments: tuple[Any, ...], keywords: dict[str, Any], value: Any, here: Here, event: int
    ) -> None:
        """A loss that torch computes in several operations: its node does not tell what it compares."""
        given = [*arguments, keywords.get("input"), keywords.get("target")]
        sides = [each.grad_fn for each in given if isinstance(each, self.watch.torch.Tensor)][:2]
        if (
            loss.endswith(("kl_div", "KLDivLoss"))
            and len(sides) > 1
            and None not in sides
            and value.grad_fn is not None
        ):
            if len(self._sides) >= LATEST:
                self._sides.clear()
            self._sides[value.grad_fn] = sides[0], sides[1]

    def on_step(self, optimizer: Any, here: Here, event: int) -> None:
        """What was compared before is forgotten, so that no graph stays because of it."""
        self._sides.clear()

    def before_backward(self, losses: list[Any], here: Here) -> None:
        """A backward pass from these tensors is about to begin."""
        site = here.site
        if here.frame is None or self._looked.get(site, 0) >= MOST:
            return
        self._looked[site] = self._looked.get(site, 0) + 1
        for sides in (each for loss in losses for each in differences(loss.grad_fn, self._sides)):
            found = bootstrapped(*sides)
            sort, taught = ("bootstrap", False) if found is not None else ("teacher", None not in sides)
            if not taught and found is None:
                (self._without if any(sides) else self._unclear).setdefault(site, here)
                continue
            learned, target = (
                {id(each): each for each in _leaves(nodes)} for nodes in found or ([each] for each in sides)
            )
            own = not learned.keys().isdisjoint(target)
            if taught and own:
                self._unclear.setdefault(site, here)
            elif (site, own) not in self._kept:
                self._kept.add((site, own))
                self._tell(here, sort=sort, own=own, reached=len(target))

    def at_end(self, error: BaseException | None) -> None:
        """Where no target had a graph, or what is the target is not clear."""
        kept = {site for site, _ in self._kept}
        for site, here in (self._without | self._unclear).items():
            if site not in kept:
                self._tell(here, sort="", own=False, kept=None if site in self._unclear else False)

    def _tell(self, here: Here, **fields: Any) -> None:
        self.watch.recorder.event("TargetKept", here, name="", backward_at=here.site, **fields)


def differences(root: Any, sides: dict[Any, tuple[Any, Any]]) -> Iterator[tuple[Any, Any]]:
    """The losses of an input and a target, and the squared differences, behind a node: both sides of each.

    Two times None stands for something else, of which nobody knows what it compares.
    """
    waiting, seen = [(root, False)], set[Any]()
    while waiting and len(seen) < NODES:
        node, squared = waiting.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        if node in sides or _forwards(node):  # what a module computed may have been a loss
            yield sides.get(node, (None, None))
            continue
        name, inner = _name(node), [each for each, _ in node.next_functions]
        twice = name == "MulBackward" and inner[0] is inner[-1]
        alone = len(inner) > 1 and None in inner[:2]  # of a difference and zeros, or of a prediction and what is given
        compares = name.startswith(DISTILLING) and not (alone and _is_difference(inner[0] or inner[1]))
        if compares or (squared and name == "SubBackward"):
            yield inner[0], inner[1]
        else:
            again = squared or twice or name in SQUARES or name.startswith(DISTILLING)
            waiting += [(each, again) for each in inner]


def bootstrapped(left: Any, right: Any) -> tuple[list[Any], list[Any]] | None:
    """The nodes of what is learned, and those of a target that is something given and a part of a later output."""
    terms = [*_terms(left, right)]
    learned = [term for term in terms if term.node is not None and not term.scaled]
    later = [term for term in terms if term.node is not None and term.scaled]
    signs = {term.positive for term in learned}
    given = any(term.node is None for term in terms)
    opposite = any(term.positive not in signs for term in later)
    forwards = {frozenset(behind(term.node).forwards) for term in learned}
    if not (given and opposite and len(signs) == len(forwards) == 1):
        return None
    nodes = [term.node for term in later]
    if any(behind(node).forwards & next(iter(forwards)) for node in nodes):
        return None
    return [term.node for term in learned], nodes


def _terms(left: Any, right: Any) -> Iterator[Term]:
    waiting = [Term(left, positive=True, scaled=False), Term(right, positive=False, scaled=False)]
    looked = 0
    while waiting and looked < NODES:
        node, positive, scaled = waiting.pop()
        looked += 1
        name = "" if node is None or _forwards(node) else _name(node)
        inner = [each for each, _ in node.next_functions] if name else []
        if name in ("AddBackward", "SubBackward"):
            other = positive if name == "AddBackward" else not positive
            factor = getattr(node, "_saved_alpha", 1) != 1
            waiting += [Term(inner[0], positive, scaled), Term(inner[1], other, scaled or factor)]
        elif name == "RsubBackward":
            waiting += [
                Term(inner[0], not positive, scaled),
                Term(inner[-1] if len(inner) > 1 else None, positive, scaled),
            ]
        elif name == "WhereBackward":
            waiting += [Term(each, positive, scaled) for each in inner[-2:]]
        elif name == "NegBackward":
            waiting.append(Term(inner[0], not positive, scaled))
        elif name in ("MulBackward", "DivBackward") and None in inner:
            waiting += [Term(each, positive, scaled=True) for each in inner if each is not None]
        elif name in PASSING and any(each is not None for each in inner):
            waiting.append(Term(next(each for each in inner if each is not None), positive, scaled))
        else:
            yield Term(node, positive, scaled)


def _is_difference(node: Any) -> bool:
    """Whether a node subtracts, apart from how its result is arranged."""
    for _ in range(NODES):
        if node is None or _forwards(node) or _name(node) not in PASSING:
            break
        node = node.next_functions[0][0]
    return node is not None and not _forwards(node) and _name(node) == "SubBackward"


def _leaves(nodes: list[Any]) -> list[Any]:
    return [leaf for node in nodes for leaf in behind(node, leaves=True).leaves]


def _forwards(node: Any) -> Any:
    return (noted(node) or {}).get("forwards")


def _name(node: Any) -> str:
    return str(node.name()).rstrip("0123456789")
