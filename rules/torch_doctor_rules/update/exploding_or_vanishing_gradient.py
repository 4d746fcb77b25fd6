"""TDR121: gradients grow without bound, or never reach the first layers."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from msgspec import Struct

from torch_doctor.rule import Evidence, Finding, Level, Rule
from torch_doctor.trace import Backward, Clipped, claims
from torch_doctor_rules.judging.evidence import count, fact, numbers, short
from torch_doctor_rules.judging.wording import message, owner

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Site, Trace

PASSES = 3  # backward passes that have to agree
GROWTH, LARGE = 1000.0, 1e4
VANISHED = 1e-8  # of the last layer's gradient


class Course(Struct, frozen=True):
    """The first backward pass of a line, and the measurements of all: exploding norms, or vanishing ratios."""

    backward: Backward
    values: list[float]
    explodes: bool


class ExplodingOrVanishingGradient(Rule):
    """Gradients grow a thousandfold within a few steps, or almost vanish before they reach the first layers.

    ## Why is this bad?
    Exploding gradients push the weights farther off with each update, until they are NaN or infinite. When gradients
    vanish, the first layers keep their random weights, and the rest of the model learns from noise.

    ## Example
    ```python
    x = 10 * torch.randn(64, 8)
    y = x.sum(1, keepdim=True)
    model = nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    for _ in range(5):
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()
    ```

    ## Use instead
    ```diff
    -x = 10 * torch.randn(64, 8)
    +x = torch.randn(64, 8)
     y = x.sum(1, keepdim=True)
     model = nn.Linear(8, 1)
    -optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    +optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
     for _ in range(5):
    ```

    ## How the probe confirms it
    The probe measures the gradients of the first backward passes. They explode if their total norm grows with every
    pass, to more than 10,000 and more than 1,000 times the first. They vanish if the model has at least four layers
    and, in every pass, the norms of both of the first two layers are nonzero and below 1e-8 of the last layer's.

    ## When it is not reported
    - Anything clips gradients, or a gradient scaler is used.
    - There are fewer than three backward passes.
    - The data or the weights are synthetic.
    - Another finding explains it.

    ## References
    - https://docs.pytorch.org/docs/stable/generated/torch.nn.utils.clip_grad_norm_.html
    - https://docs.pytorch.org/docs/stable/nn.init.html
    """

    code = "TDR121"
    name = "exploding-or-vanishing-gradient"
    level = Level.WARNING
    witness = "P"
    needs = frozenset({"norms"})
    voided_by = frozenset({"values", "weights", "files", "inside", "rates"})
    explained_by = frozenset({"TDR101", "TDR118", "TDR120", "TDR213", "TDR309", "TDR312", "TDR313", "TDR321", "TDR715"})

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Every line whose gradients explode or vanish."""
        for course in _courses(trace):
            loss = owner(course.backward.name, "backward", "the loss")
            if course.explodes:
                text = "gradients of `{loss}` explode: each update pushes the weights farther off"
                remedy = (
                    "lower the learning rate, scale the inputs and targets, or clip gradients with `clip_grad_norm_`"
                )
            else:
                text = "gradients of `{loss}` vanish on the way back: the first layers do not learn"
                remedy = (
                    "use ReLU-like activations, normalization or residual connections, and a matching initialization"
                )
            yield self.finding(course.backward.site, message(text, loss=loss), help=remedy)

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """The norms, or their ratio."""
        for course in _courses(trace):
            if course.backward.site != finding.site:
                continue
            first, last = course.values[0], course.values[-1]
            passes = count(len(course.values), "backward pass", "backward passes")
            if course.explodes:
                text = f"the gradient norm grows from {short(first)} to {short(last)} in {passes}"
                yield fact(text, last, "", course.backward)
            else:
                most = max(course.values)
                text = f"the first layers' gradient norm is at most {short(most)} of the last layer's in {passes}"
                yield fact(text, most, "", course.backward)


def _courses(trace: Trace) -> list[Course]:
    """The lines whose gradients explode or vanish, none where something clips."""
    if trace.of(Clipped):
        return []
    backwards: dict[Site, list[Backward]] = {}
    for event in trace.of(Backward):
        if event.through == "backward" and not event.inputs_only:
            backwards.setdefault(event.site, []).append(event)
    return [course for passes in backwards.values() if (course := _course(trace, passes)) is not None]


def _course(trace: Trace, passes: list[Backward]) -> Course | None:
    norms = [value for _, value in numbers(trace, claims.GRADIENT_NORM, *passes)]
    if len(norms) < PASSES:
        return None
    rising = all(earlier < later for earlier, later in pairwise(norms))
    if rising and norms[0] > 0 and norms[-1] > LARGE and norms[-1] > GROWTH * norms[0]:
        return Course(passes[0], norms, explodes=True)
    ratios = [value for _, value in numbers(trace, claims.GRADIENT_NORM_RATIO, *passes)]
    vanish = len(ratios) == len(norms) and max(ratios) < VANISHED
    return Course(passes[0], ratios, explodes=False) if vanish else None
