"""Inputs of losses: the kind of their values, and how these reach the loss."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.rule import Evidence, Finding, Step, same_place
from torch_doctor.trace import Escaped, Forward, Kind, LossCalled, ModuleBuilt, Normalised, Source, Trace, claims
from torch_doctor_rules.judging.evidence import at, fact, number, short
from torch_doctor_rules.judging.loss_shapes import classes, rank
from torch_doctor_rules.judging.sites import first_per_site

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from torch_doctor.trace import Site, TensorFact


def both(module: str, function: str) -> frozenset[str]:
    """The canonical names of a loss as a module and as a function."""
    return frozenset((f"torch.nn.{module}", f"torch.nn.functional.{function}"))


CROSS_ENTROPY = both("CrossEntropyLoss", "cross_entropy")
"""Losses that apply the log-softmax to their input."""
NLL = both("NLLLoss", "nll_loss") | {"torch.nn.NLLLoss2d"}
BCE = both("BCELoss", "binary_cross_entropy")
KL_DIV = both("KLDivLoss", "kl_div")
SIGMOID_INSIDE = (
    both("BCEWithLogitsLoss", "binary_cross_entropy_with_logits")
    | both("MultiLabelSoftMarginLoss", "multilabel_soft_margin_loss")
    | {"torchvision.ops.sigmoid_focal_loss"}
)
"""Losses that apply the sigmoid to their input."""


DISTANCES = (
    both("MSELoss", "mse_loss")
    | both("L1Loss", "l1_loss")
    | both("SmoothL1Loss", "smooth_l1_loss")
    | both("HuberLoss", "huber_loss")
)
"""Losses that are a distance of two tensors, number by number."""
ELEMENTWISE = DISTANCES | both("PoissonNLLLoss", "poisson_nll_loss") | both("GaussianNLLLoss", "gaussian_nll_loss")
"""Losses that compare number by number, and stretch input and target to match."""


MARGIN = both("MultiMarginLoss", "multi_margin_loss")
ASYMMETRIC = (CROSS_ENTROPY | NLL | BCE | SIGMOID_INSIDE | MARGIN | both("PoissonNLLLoss", "poisson_nll_loss")) | both(
    "SoftMarginLoss", "soft_margin_loss"
)
"""Losses in which input and target cannot change places."""


def made_before(trace: Trace, kind: Kind, losses: Collection[str]) -> Iterator[tuple[Site, LossCalled]]:
    """Each place that makes this kind of values for one of the losses, with the first loss that they reach."""
    seen = set()
    for loss in _given(trace, {kind}, losses):
        operation_at = loss.input.operation_at
        if operation_at is not None and operation_at not in seen:
            seen.add(operation_at)
            yield operation_at, loss


def given(trace: Trace, kinds: Collection[Kind], losses: Collection[str]) -> Iterator[LossCalled]:
    """The losses that get one of these kinds of values from a model: of several calls of one cause the first.

    They have one cause when they are of one sort and get what was made at one place, or by one module.
    """
    seen = set()
    for loss in first_per_site(_given(trace, kinds, losses)):
        cause = (loss.loss, loss.input.kind, loss.input.operation_at or frozenset(_models(trace, loss)) or loss.site)
        if cause not in seen:
            seen.add(cause)
            yield loss


def _given(trace: Trace, kinds: Collection[Kind], losses: Collection[str]) -> Iterator[LossCalled]:
    for loss in trace.of(LossCalled):
        if loss.loss in losses and loss.input.kind in kinds and _of_a_model(loss) and not _explained(trace, loss):
            yield loss


def trail_to_loss(trace: Trace, operation_at: Site, loss: LossCalled, note: str) -> Iterator[Step]:
    """How the values came from where they were made to the loss."""
    yield Step(operation_at, note)
    yield from trail_of_input(trace, loss)
    yield Step(loss.site, f"its output reaches {loss.loss.rpartition('.')[2]} here")


def trail_of_input(trace: Trace, loss: LossCalled) -> Iterator[Step]:
    """Which module gave what the loss gets, and where that was built."""
    built = {event.module: event for event in trace.of(ModuleBuilt)}
    for forward in trace.at(*sorted(loss.input.forwards)[-1:]):
        if isinstance(forward, Forward):
            if forward.module in built:
                yield Step(built[forward.module].site, f"`{forward.name}` is created here")
            yield Step(forward.site, f"`{forward.name}` is called here")


def same_loss(finding: Finding, seen: Finding) -> bool:
    """Whether two findings lead to one loss: the softmax inside a container has no line of its own in `forward`."""
    return same_place(finding.site, seen.site) or same_place(finding.trail[-1].site, seen.trail[-1].site)


def reached_loss(
    trace: Trace, site: Site, *wrong: Kind, fits: Callable[[Trace, LossCalled], bool] | None = None
) -> bool | str:
    """Whether the loss at this place was computed, and never of the kinds of values that are wrong for it.

    `fits` tells of values whose kind is not known whether the numbers themselves show that they are right.
    """
    losses = at(trace, site, LossCalled)
    if any(loss.input.kind is Kind.UNKNOWN and not (fits and fits(trace, loss)) for loss in losses):
        return "it is unknown what kind of values reached the loss"
    if any(loss.input.kind in wrong for loss in losses):
        return "such values reached the loss, but their origin is unknown"
    return bool(losses)


def between(trace: Trace, loss: LossCalled, extremes: tuple[str, str], low: float, high: float) -> bool:
    """Whether the numbers that were measured of the loss, the claims of the smallest and the largest, lie in a range."""
    smallest, largest = (number(trace, claim, loss) for claim in extremes)
    return smallest is not None and largest is not None and low <= smallest <= largest <= high


def at_loss(trace: Trace, site: Site, said: str, *wrong: Kind) -> Iterator[Evidence]:
    """How many of the losses at this place got such kinds of values, and between what these lay."""
    losses = at(trace, site, LossCalled)
    got = [loss for loss in losses if loss.input.kind in wrong]
    if losses:
        yield fact(f"{len(got)} of {len(losses)} loss calls got {said}", len(got), "losses", losses[0])
    for loss in (got or losses)[:1]:
        low, high = number(trace, claims.SMALLEST_INPUT, loss), number(trace, claims.LARGEST_INPUT, loss)
        if low is not None and high is not None:
            yield fact(f"the values lay between {short(low)} and {short(high)}", high, "", loss)


def swapped(trace: Trace, loss: LossCalled) -> bool:
    """Whether a loss gets data where its input belongs, and what a model made of data where its target does."""
    first, second = loss.input, loss.target
    if loss.loss not in ASYMMETRIC or first.graph is not False or first.forwards or first.retained:
        return False
    known = trace.observed or first.source in (Source.LOADER, Source.DATA) or first.kind is Kind.LABELS
    if second.kind in (Kind.LABELS, Kind.LOSS) or are_integers(second):
        return False
    return known and bool(second.graph_forwards) and second.graph is True


def are_integers(fact: TensorFact) -> bool:
    """Whether these are integers, or yes and no."""
    return fact.dtype.startswith(("int", "uint", "bool"))


def one_class(loss: LossCalled) -> bool:
    """Whether cross-entropy is computed of one score per sample: it is 0, whatever the score."""
    if loss.input.kind in (Kind.LABELS, Kind.NOISE) or not _of_a_model(loss):
        return False
    known = rank(loss.input) is not None or (rank(loss.target) or 0) < 2  # noqa: PLR2004 - else classes may lie elsewhere
    return loss.loss in CROSS_ENTROPY and known and classes(loss.input) == 1


def over_one_output(trace: Trace, loss: LossCalled) -> bool:
    """Whether a loss is constant because a softmax, its own or one before it, goes over a single number."""
    before = loss.input.operation_at
    return one_class(loss) or any(event.size == 1 and event.site == before for event in trace.of(Normalised))


def _explained(trace: Trace, loss: LossCalled) -> bool:
    """Whether something else says more of the loss: it is chosen by a setting, or constant."""
    return _by_choice(trace, loss) or over_one_output(trace, loss)


def _of_a_model(loss: LossCalled) -> bool:
    """Whether the loss trains or evaluates something, and does not merely compare two distributions."""
    return bool(loss.input.forwards) or loss.input.graph is True


def _by_choice(trace: Trace, loss: LossCalled) -> bool:
    """Whether the same loss gets something else when a setting is another: the softmax is behind a flag.

    Where the setting chooses between models, each of them has to fit the loss, unless a setting chooses the loss as well:
    another one in sight, or one out of sight.
    """
    elsewise = [other for other in trace.of(LossCalled) if other.site == loss.site and not trace.together(other, loss)]
    others = [other for other in elsewise if other.input.kind is not loss.input.kind]
    unseen = (event for event in trace.of(Escaped) if event.site == loss.site)
    loss_too = any(other.loss != loss.loss for other in elsewise) or any(not trace.together(e, loss) for e in unseen)
    own = _models(trace, loss)
    return any(loss_too or not own or own & _models(trace, other) for other in others)


def _models(trace: Trace, loss: LossCalled) -> set[int]:
    """The modules whose output the loss gets."""
    return {event.module for event in trace.at(*loss.input.forwards) if isinstance(event, Forward)}
