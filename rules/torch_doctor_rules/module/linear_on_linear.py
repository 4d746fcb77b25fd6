"""TDR320: a linear layer gets the output of another one, with nothing between them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.rule import Evidence, Finding, Level, Rule, Step, same_place
from torch_doctor.trace import LinearsChained, Trace
from torch_doctor_rules.judging.evidence import count, fact
from torch_doctor_rules.judging.sites import first_per_site
from torch_doctor_rules.judging.wording import message

if TYPE_CHECKING:
    from collections.abc import Iterator

FIRST, SECOND = "the layer before it is created here", "it is created here"


class LinearOnLinear(Rule):
    """The output of one `nn.Linear` goes into another one, with nothing between them.

    ## Why is this bad?
    Two linear layers in a row compute what one computes: `W2(W1 x + b1) + b2` is `(W2 W1) x + (W2 b1 + b2)`. However many
    of them follow each other, the model can only draw straight lines where curves are meant. Nearly always the activation
    between them was forgotten. No error is raised, and the loss falls as far as a linear model gets.

    ## Example
    ```python
    model = nn.Sequential(
        nn.Linear(4, 32),
        nn.Linear(32, 1),
    )
    optimizer = torch.optim.Adam(model.parameters())
    for x, y in loader:
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()
    ```

    ## Use instead
    ```diff
         nn.Linear(4, 32),
    +    nn.ReLU(),
         nn.Linear(32, 1),
    ```

    ## How the probe confirms it
    It compares memory: whenever the second layer is called, its input is the output of the first, unchanged, and the
    first layer's output goes nowhere else.

    ## When it is not reported
    - The width between the layers is smaller than both ends, as in a bottleneck or a low-rank product, or it is not known.
    - Anything is between them: an activation, a norm, a gate, dropout, `nn.Identity()` as a placeholder, a change of axes.
    - Something else reads the output of the first layer, in any branch, or the script calls one of the layers alone.
    - One of them is frozen, shares its weights, is parametrized, pruned or has hooks.
    - Both are created with `bias=False`, as products of matrices and deep linear networks are.
    - The layers are parts of different modules, as the end of a backbone and the head after it, or of none; or one layer is
      called repeatedly.
    - One of them runs without autograd.

    ## References
    - https://docs.pytorch.org/docs/stable/generated/torch.nn.Linear.html
    - https://docs.pytorch.org/docs/stable/nn.html#non-linear-activations-weighted-sum-nonlinearity
    """

    code = "TDR320"
    name = "linear-on-linear"
    level = Level.WARNING
    witness = "SP"
    needs = frozenset({"linears"})
    only_confirms = True  # a run does not show what else reads the output
    shown_by = "call of both layers"

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Yield every layer that gets all outputs of another one, and nothing else."""
        found = [each for each in trace.of(LinearsChained) if _is_all(each)]
        for event in (
            found if trace.observed else first_per_site(found)
        ):  # a run tells the layers apart, not their places
            trail = [(event.first_at, FIRST), (event.second_at, SECOND)]
            yield self.finding(
                event.site,
                message("`{name}` gets the output of a linear layer as it is: one layer would do", name=event.name),
                help="put an activation between the two layers, or replace them by one",
                trail=[Step(site, note) for site, note in trail if site is not None],
            )

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Return whether the layers ran, and the second got something else."""
        return any(not _is_all(event) for event in _seen(trace, finding))

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """Yield how many outputs went straight into the other layer."""
        for event in _seen(trace, finding)[:1]:
            before, between, behind = event.widths
            text = f"{event.passed} of {count(event.outputs, 'output')} went on unchanged"
            yield fact(f"{text}: {before} → {between} → {behind}", event.passed, "times", event)

    def same(self, finding: Finding, seen: Finding) -> bool:
        """Return whether they are about one layer."""
        return any(
            same_place(one.site, other.site)
            for one in finding.trail
            for other in seen.trail
            if one.note == other.note == SECOND
        )


def _is_all(event: LinearsChained) -> bool:
    return event.passed == event.outputs > 0 and not event.others


def _seen(trace: Trace, finding: Finding) -> list[LinearsChained]:
    places = [step.site for step in finding.trail if step.note == SECOND]
    return [
        event
        for event in trace.of(LinearsChained)
        if event.second_at is not None and any(same_place(event.second_at, each) for each in places)
    ]
