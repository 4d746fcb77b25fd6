"""TDR220: attention weights are normalized over another dimension than the one that is summed over."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.edits import Figure, Keyword
from torch_doctor.rule import Evidence, Finding, Fix, Level, Rule, Step
from torch_doctor.trace import Trace, WeightsSummed
from torch_doctor_rules.judging.evidence import at, fact, short
from torch_doctor_rules.judging.sites import first_per_site
from torch_doctor_rules.judging.wording import Phrase, message

if TYPE_CHECKING:
    from collections.abc import Iterator

LAST = -1


class SoftmaxAxis(Rule):
    """Attention weights are normalized over another dimension than the one that the next product sums over.

    ## Why is this bad?
    Attention gives each query a mean of the values. The weights of a query have to sum to 1 over the keys, which the
    next product sums over. If softmax goes over the queries or the heads instead, some queries get several times the
    values and others almost nothing, and each query depends on the others. The shapes fit, no error is raised, and the
    loss falls.

    With 3 queries and 4 keys:

                  k1   k2   k3   k4
        q1      [ .1   .2   .1   .6 ]  softmax(dim=-1): each row sums to 1
        q2      [ .4   .3   .2   .1 ]
        q3      [ .2   .2   .5   .1 ]  softmax(dim=-2): each column would, and a row could sum to 0.2 or to 3.5
                      |
                      v  weights @ values sums over k1 … k4, for each row
        output  [ one mean of the values for each query ]

    ## Example
    ```python
    class Attention(nn.Module):
        def __init__(self, dim=8):
            super().__init__()
            self.query, self.key, self.value = nn.Linear(dim, dim), nn.Linear(dim, dim), nn.Linear(dim, dim)

        def forward(self, x):
            scores = self.query(x) @ self.key(x).transpose(1, 2) / 8**0.5
            return torch.softmax(scores, dim=1) @ self.value(x)

    model = Attention()
    loader = DataLoader(TensorDataset(torch.randn(64, 5, 8), torch.randn(64, 5, 8)), batch_size=16, shuffle=True)
    optimizer = torch.optim.Adam(model.parameters())
    for x, y in loader:
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()
    ```

    ## Use instead
    ```diff
             scores = self.query(x) @ self.key(x).transpose(1, 2) / 8**0.5
    -        return torch.softmax(scores, dim=1) @ self.value(x)
    +        return torch.softmax(scores, dim=-1) @ self.value(x)
    ```

    ## Fix safety
    The fix sets `dim=-1` if the product sums over the last dimension of the weights. Retrain: a model that was trained
    with the other weights does not fit.

    ## How the probe confirms it
    It follows the result of the softmax to the product and adds the weights up along the summed dimension. The finding
    is refuted if they sum to 1.

    ## When it is not reported
    - The scores do not compare pairs: one layer computes them for clusters, slots, experts or channels (NetVLAD,
      DiffPool, linear attention), or the queries are parameters or random numbers (slot attention).
    - The weights come from a score for each position, and are normalized over the batch (TDR216).
    - The script divides the weights by their sum, multiplies two softmaxes, or another product sums over the
      normalized dimension.
    - Something unknown happens between the softmax and the product, or the number of dimensions is unknown.

    ## References
    - https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.softmax.html
    - https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.scaled_dot_product_attention.html
    """

    code = "TDR220"
    name = "softmax-axis"
    level = Level.ERROR
    witness = "SP"
    fix = Fix.UNSAFE
    fix_changes = frozenset({Figure.OUTPUTS, Figure.LOSS, Figure.GRADIENTS, Figure.UPDATES})
    voided_by = frozenset({"shapes", "inside"})

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Every softmax whose weights no product sums over the normalized dimension."""
        found = [event for event in trace.of(WeightsSummed) if event.along == event.summed or event.weights != 1]
        right = {event.site for event in found if event.along == event.summed or not (event.compared or trace.observed)}
        for event in first_per_site(event for event in found if event.site not in right):
            text = "softmax normalizes dimension {along} of the weights, but `{product}` sums over dimension {summed}"
            along, summed = (str(_place(each, event)) for each in (event.along, event.summed))
            yield self.finding(
                event.site,
                message(text, product=event.product, along=Phrase(along), summed=Phrase(summed)),
                help=f"normalize over the dimension that is summed over: `dim={summed}`",
                trail=(Step(event.used_at, "the weights are summed here"),),
                edits=[Keyword(event.site, "dim", "-1", -1)] if event.summed == LAST and event.by_call else [],
            )

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Whether a product summed over the normalized dimension."""
        found = at(trace, finding.site, WeightsSummed)
        return bool(found) or "no product of the weights was found in this run"

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """What the weights sum to along the dimension that the product sums over."""
        for event in at(trace, finding.site, WeightsSummed)[:1]:
            low, high = short(event.smallest), short(event.largest)
            text = f"the weights that are summed up add up to between {low} and {high}"
            yield fact(text, event.largest, "", event)

    def speaks_alone(self, trace: Trace, finding: Finding) -> bool:  # noqa: ARG002 - as all rules
        """No: only the source shows that the scores compare pairs."""
        return False


def _place(place: int, event: WeightsSummed) -> int:
    """A dimension, counted as the script does where that is known."""
    return place if not event.dims or not event.from_start else place + event.dims
