"""TDR127: a term of the loss that trains nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.rule import Evidence, Finding, Level, Rule, Step, same_place
from torch_doctor.trace import Backward, Stepped, TermCut
from torch_doctor_rules.judging.evidence import count, fact
from torch_doctor_rules.judging.gradients import Gradients, fills
from torch_doctor_rules.judging.sites import first_per_site
from torch_doctor_rules.judging.wording import message, sentence

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Trace

SUM = "the term is added to the loss here"
ENOUGH = 2  # different values that tell a term from a constant


class LossTermWithoutGradient(Rule):
    """A term of the loss is computed from the model's output, but has no gradient for what the optimizer steps.

    ## Why is this bad?
    The gradient of a sum is the sum of the gradients of its terms. A term whose graph is cut is a constant for `backward()`:
    it is part of the printed loss, but nothing is trained by it, whatever its weight is.

        loss = cross_entropy + 0.5 * dice                 dice of `scores > 0.5`
               └── gradient        └── no gradient        a comparison has none

    Common cuts are thresholds, `argmax` and `round`, `.item()` and NumPy, `.data` and `detach()`, and
    `torch.no_grad()` around the computation. A discriminator's score of `fake.detach()` has a gradient for the
    discriminator, but none for the generator that is stepped with it.

    ## Example
    ```python
    model = nn.Linear(4, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        x, y = torch.randn(16, 4), torch.randint(0, 3, (16,))
        scores = model(x)
        errors = (scores.argmax(1) != y).float().mean()
        loss = nn.functional.cross_entropy(scores, y) + errors
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Use instead
    ```diff
         scores = model(x)
    -    errors = (scores.argmax(1) != y).float().mean()
    +    errors = 1 - scores.softmax(1).gather(1, y[:, None]).mean()
         loss = nn.functional.cross_entropy(scores, y) + errors
    ```

    ## How the probe confirms it
    The probe notes what is added up to each loss. The term has no graph, or its gradient reaches no parameter that the
    next step updates, while those of other terms do. A term without a graph must have had several values, since a constant
    is right. If it has had one, a copy of the process goes on with other outputs of the model up to `backward()`. If the
    gradients of all terms that are added there reach parameters that are stepped, the finding is refuted.

    ## When it is not reported
    - No term of the loss has a gradient: TDR115 reports that.
    - The term is constant, has the weight 0, or is computed without any output of what is stepped (a teacher's, data).
    - One operand is cut, but another one has a gradient: masks and weights from thresholds, detached targets, advantages
      and importance weights, both losses of a VQ-VAE, and load balancing in a mixture of experts.
    - Straight-through estimators, and a term that is the detached value of another one.
    - Another optimizer steps what the term reaches before the gradients are cleared: a discriminator trained along, a probe
      on detached features.
    - The term is only logged, or it is cut in some epochs only: a comparison decides it.
    - Unresolved code, or a derivative written by hand, is between the output and the term.

    ## References
    - https://docs.pytorch.org/docs/stable/notes/autograd.html
    - https://docs.pytorch.org/docs/stable/generated/torch.Tensor.detach.html
    """

    code = "TDR127"
    name = "loss-term-without-gradient"
    level = Level.ERROR
    witness = "SP"
    needs = frozenset({"terms"})

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Yield every term that trains nothing, next to terms that do."""
        for event in first_per_site([each for each in trace.of(TermCut) if _trains_nothing(trace, each)]):
            text = "`{how}` cuts the gradient of `{name}`: this term of the loss trains nothing"
            if not event.how:
                text = "`{name}` is a term of the loss that trains nothing"
            trail = [Step(event.summed_at, SUM)]
            if event.cut_at is not None:
                trail.insert(0, Step(event.cut_at, sentence("`{how}` cuts the graph here", how=event.how)))
            yield self.finding(
                event.site,
                message(text, name=event.name, how=event.how),
                help="compute the term from the model's output with differentiable operations",
                trail=trail,
            )

    def speaks_alone(self, trace: Trace, finding: Finding) -> bool:  # noqa: ARG002 - what a rule may look at
        """Return False: a run does not show what a term was computed from before its graph was cut."""
        return False

    def same(self, finding: Finding, seen: Finding) -> bool:
        """Return whether both are about one sum."""
        return same_place(finding.trail[-1].site, seen.trail[-1].site)

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Whether the gradients of all terms that were added there reach something that is stepped."""
        seen = _at(trace, finding)
        if seen and all(_trains(trace, event) for event in seen):
            return True
        return "it is unknown which terms of the loss have a gradient" if trace.of(Backward) else False

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """In how many passes the term trained nothing."""
        idle = [event for event in _at(trace, finding) if _trains_nothing(trace, event)]
        for event in sorted(idle, key=lambda each: -each.passes)[:1]:
            passes = count(event.passes, "backward pass", "backward passes")
            text = f"it reaches no parameter that is stepped in {passes}"
            if event.values:
                text = f"it has {count(event.values, 'value')} and no gradient in {passes}"
            yield fact(text, event.passes, "backward passes", event)


def _at(trace: Trace, finding: Finding) -> list[TermCut]:
    """What was seen of the terms that were added at the sum of a finding."""
    return [event for event in trace.of(TermCut) if same_place(event.summed_at, finding.trail[-1].site)]


def _step(trace: Trace, event: TermCut) -> tuple[Backward, Stepped] | None:
    """The pass that the term is part of, and the step that uses the gradients of other terms; None where one is not known."""
    gradients = trace.view(Gradients)
    later = (each for each in trace.of(Backward) if each.index > event.index)
    backward = next((each for each in later if same_place(each.site, event.backward)), None)
    if backward is None or not fills(backward):
        return None
    for step in gradients.until_cleared(backward, event.others)[0]:
        if isinstance(step, Stepped):
            if not step.whole:
                return None
            if gradients.family.related(step.modules, event.others):
                return backward, step
    return None


def _trains(trace: Trace, event: TermCut) -> bool:
    """Whether that step uses a gradient of the term as well."""
    found = _step(trace, event)
    return found is not None and trace.view(Gradients).family.related(found[1].modules, event.modules)


def _trains_nothing(trace: Trace, event: TermCut) -> bool:
    """Whether the step moves what the term was computed with, and no step uses a gradient of the term."""
    gradients, found = trace.view(Gradients), _step(trace, event)
    if found is None or 0 < event.values < ENOUGH:
        return False
    backward, step = found
    if not (trace.observed or gradients.family.related(step.modules, event.lost)):
        return False
    if not event.modules:
        return True
    following, cleared = gradients.until_cleared(backward, event.modules)
    if not cleared and any(gradients.may_concern(each, event.modules) for each in trace.of(Stepped)):
        return False
    return not any(gradients.may_step(each, event.modules) for each in following)
