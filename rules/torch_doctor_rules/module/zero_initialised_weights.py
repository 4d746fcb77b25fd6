"""TDR309: constant weights keep the units of a layer identical."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.rule import Evidence, Finding, Level, Rule, Step, same_place
from torch_doctor.trace import ConstantWeights, ModuleBuilt, Owned, Stepped, Trace
from torch_doctor_rules.judging.evidence import count, fact
from torch_doctor_rules.judging.gradients import Gradients
from torch_doctor_rules.judging.sites import first_per_site
from torch_doctor_rules.judging.testing import in_a_test
from torch_doctor_rules.judging.wording import message

if TYPE_CHECKING:
    from collections.abc import Iterator

LEAST = 2
"""Updates after which units that differ at all have come apart: the first may see nothing but zeros."""


class ZeroInitialisedWeights(Rule):
    """A hidden layer and the layer after it start with constant weights, or with zeros before a ReLU.

    ## Why is this bad?
    Units that compute the same value and have the same effect get the same gradient, so they stay identical. A layer
    with 512 units then acts like a single unit. With zeros, a network of ReLUs does not learn at all. Random weights
    make the units differ.

    ## Example
    ```python
    model = nn.Sequential(nn.Linear(4, 16, bias=False), nn.Tanh(), nn.Linear(16, 3))
    for layer in model:
        if isinstance(layer, nn.Linear):
            nn.init.constant_(layer.weight, 0.1)

    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(5):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(torch.randn(8, 4)), torch.randint(0, 3, (8,)))
        loss.backward()
        optimizer.step()
    ```

    ## Use instead
    ```diff
         if isinstance(layer, nn.Linear):
    -        nn.init.constant_(layer.weight, 0.1)
    +        nn.init.xavier_uniform_(layer.weight)
    ```

    ## How the probe confirms it
    After some optimizer steps, the rows of the layer's weight are still equal. For a parameter that a module multiplies
    with, the probe also compares the columns.

    ## When it is not reported
    - Biases, norms, embeddings, layers with one unit, and frozen layers.
    - Only one of two consecutive layers is constant. Last layers, residual branches, LoRA and zero convolutions that
      start at zero differ after the first step. Consecutive layers are linear and convolutional layers, and products
      with parameters, with only functions, norms and layers without weights in between.
    - The biases of a layer differ, as those do that PyTorch draws, and no batch norm removes them.
    - Dropout between the layers makes units differ, unless all of a layer, including its bias, is 0 before a ReLU or
      before another layer of zeros.
    - Something else reads what the first of the two layers computes, such as a skip connection.
    - A term is added to the product with a zero parameter before the ReLU.
    - Weights are loaded or changed afterwards.
    - It is unknown which layers a loop initializes.
    - The script or test never trains the layer.

    ## References
    - https://docs.pytorch.org/docs/stable/nn.init.html
    - https://docs.pytorch.org/docs/stable/generated/torch.nn.Linear.html
    """

    code = "TDR309"
    name = "zero-initialised-weights"
    level = Level.ERROR
    witness = "SP"
    voided_by = frozenset({"inside"})
    needs = frozenset(("symmetry",))
    explained_by = frozenset(("TDR309",))  # a run alone does not tell which initialisation it was

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Every layer with constant weights whose units stay identical."""
        parted = {event.module for event in trace.of(ConstantWeights) if not event.identical}
        wrong = [event for event in trace.of(ConstantWeights) if event.module not in parted and not in_a_test(event)]
        for event in first_per_site(event for event in wrong if _is_trained(trace, event)):
            value = "the same value" if event.value is None else f"{event.value:g}"
            role = (
                "a hidden layer before a ReLU" if event.closed else "a hidden layer, followed by another constant layer"
            )
            trail = [] if event.built_at is None else [Step(event.built_at, role)]
            what = "no gradient passes the ReLU" if event.closed else "its units stay identical"
            yield self.finding(
                event.site,
                message(
                    "all weights of `{name}` start at {value}: {what}",
                    name=event.class_name.rpartition(".")[2],
                    value=value,
                    what=what,
                ),
                help="keep torch's default initialization, or initialize the weights randomly",
                trail=trail,
            )

    def same(self, finding: Finding, seen: Finding) -> bool:
        """Whether they are about one layer: the source tells where it is set, a run where it was built."""
        places = [finding.site, *(step.site for step in finding.trail)]
        return any(same_place(place, seen.site) for place in places)

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Whether the layer was updated, and its units came apart."""
        found = self._seen(trace, finding)
        if any(event.identical for event in found) or (found and max(event.steps for event in found) < LEAST):
            return "too few optimizer steps to tell"
        return bool(found)

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """How many of its units are identical."""
        for event in self._seen(trace, finding)[:1]:
            after = f"after {count(event.steps, 'optimizer step')}"
            same = f"its {count(event.units, 'unit')} are identical" if event.identical else "its units differ"
            yield fact(f"{same} {after}", event.units if event.identical else event.steps, "units", event)

    def _seen(self, trace: Trace, finding: Finding) -> list[ConstantWeights]:
        places = [finding.site, *(step.site for step in finding.trail)]
        seen = [event for event in trace.of(ConstantWeights) if any(same_place(place, event.site) for place in places)]
        return [event for event in seen if f"`{event.class_name.rpartition('.')[2]}`" in finding.message]


def _is_trained(trace: Trace, weights: ConstantWeights) -> bool:
    """Whether updates would have told its units apart: somebody trains it, or may, as with a class that nobody here uses."""
    if trace.observed:
        return weights.steps >= LEAST
    gradients, module = Gradients(trace), frozenset((weights.module,))
    return (
        bool(trace.of(Owned))
        or any(gradients.may_concern(step, module) for step in trace.of(Stepped))
        or any(event.site == event.class_site for event in trace.of(ModuleBuilt))
        or any(gradients.may_have_touched(event, module) for event in trace.events)
    )
