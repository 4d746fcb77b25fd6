"""TDR118: parameters that are used and in an optimizer, but get no gradient."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from torch_doctor.rule import Evidence, Finding, Level, Rule, Step
from torch_doctor.trace import ModuleBuilt, OptimizerBuilt, ParameterSeen, Trace
from torch_doctor_rules.judging.evidence import count, fact
from torch_doctor_rules.judging.wording import message

if TYPE_CHECKING:
    from collections.abc import Iterator

ENOUGH = 2  # backward passes without a gradient
SURE = 3  # backward passes with a gradient of zeros: what begins at zero has moved by then
UNITS = (
    16  # of a layer with a gradient of zeros: fewer may all be on the dead side of a ReLU by the draw of its weights
)


class ParameterWithoutGradient(Rule):
    """Part of the model runs and is in the optimizer, but no gradient ever reaches it.

    ## Why is this bad?
    The part keeps its random initial values while everything around it learns. Something cuts the graph between it and
    the loss: a `.detach()`, a `.data`, a round trip through NumPy, an `argmax`, or a new tensor created from its
    output. Or its output is not used. No error is raised: an optimizer skips parameters that have no gradient.

    ## Example
    ```python
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.encoder, self.head = nn.Linear(4, 8), nn.Linear(8, 1)

        def forward(self, x):
            return self.head(torch.relu(self.encoder(x)).detach())


    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(4):
        optimizer.zero_grad()
        nn.functional.mse_loss(net(torch.randn(16, 4)), torch.randn(16, 1)).backward()
        optimizer.step()
    ```

    ## Use instead
    ```diff
         def forward(self, x):
    -        return self.head(torch.relu(self.encoder(x)).detach())
    +        return self.head(torch.relu(self.encoder(x)))
    ```

    ## How the probe confirms it
    During the first steps, the probe counts the backward passes for every trainable parameter whose layer ran with
    autograd enabled: all those of its model, and those that gave the parameter a nonzero gradient. A member of a
    `ModuleList` that no line of the script reaches (`for layer in self.layers[:-1]`) gets none either.

    ## When it is not reported
    - The parameters are frozen or in no optimizer.
    - The layer did not run, or only under `no_grad` (teachers, averaged copies). Unreached members of a `ModuleList`
      are reported.
    - The layer is part of a library's model.
    - A condition that a later iteration may meet can add to the loss (`if epoch >= 5: loss = loss + extra`).
    - The first gradient comes a step later (a gate initialized to zero).
    - The script updates the values itself (a codebook of averages, replaced or written in place).
    - The layer has fewer than 16 units and gets gradients of zero: all its units may be dead by chance.
    - Another finding explains it.

    ## References
    - https://docs.pytorch.org/docs/stable/notes/autograd.html#locally-disabling-gradient-computation
    - https://docs.pytorch.org/docs/stable/generated/torch.Tensor.detach.html
    """

    code = "TDR118"
    name = "parameter-without-gradient"
    level = Level.ERROR
    witness = "P"
    needs_end = True
    needs = frozenset({"parameters"})
    voided_by = frozenset({"shapes", "inside"})
    explained_by = frozenset(
        f"TDR{number}"
        for number in (102, 103, 104, 105, 111, 113, 114, 115, 120, 126, 127, 213, 301, 308, 309, 312, 316, 715)
    )

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Every part of a module that ran, is stepped, and got nothing."""
        built = {event.module: event for event in trace.of(ModuleBuilt)}
        optimizers = {event.optimizer: event for event in trace.of(OptimizerBuilt)}
        for owner, seen in _barren(trace).items():
            part = built.get(owner)
            what = part.class_name.rpartition(".")[2] if part is not None else seen[0].owner_class
            text = "no gradient reaches `{name}` ({what}): it keeps its initial values"
            trail = []
            if seen[0].optimizer in optimizers:
                trail.append(
                    Step(optimizers[seen[0].optimizer].site, "its parameters are passed to the optimizer here")
                )
            yield self.finding(
                seen[0].site,
                message(text, what=what, name=seen[0].name.rpartition(".")[0] or seen[0].name),
                help="find what cuts the graph between its output and the loss: `detach`, `.data`, `argmax` or NumPy",
                trail=trail,
            )

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """How many numbers stayed without a gradient in how many backward passes."""
        for seen in _barren(trace).values():
            if seen[0].site == finding.site:
                total, passes = sum(each.elements for each in seen), seen[0].backwards
                text = f"{count(total, 'parameter')} without a gradient in {count(passes, 'backward pass', 'backward passes')}"
                yield fact(text, total, "parameters", seen[0])


def _barren(trace: Trace) -> dict[int, list[ParameterSeen]]:
    """The parameters that nothing reaches, by the part of the model that they belong to."""
    live: dict[int, int] = defaultdict(int)
    for seen in trace.of(ParameterSeen):
        live[seen.module] = max(live[seen.module], seen.live_steps)
    widest: dict[int, int] = defaultdict(int)
    for seen in trace.of(ParameterSeen):
        widest[seen.owner] = max(widest[seen.owner], seen.units)
    found: dict[int, list[ParameterSeen]] = defaultdict(list)
    for seen in trace.of(ParameterSeen):
        nothing = seen.backwards >= ENOUGH and seen.gradients == 0 and not seen.moved
        zeros = (
            seen.backwards >= SURE and seen.nonzero == 0 and live[seen.module] >= ENOUGH and widest[seen.owner] >= UNITS
        )
        known = seen.module and seen.optimizer and seen.of_project and not seen.joins
        if known and live[seen.module] and (nothing or zeros):
            found[seen.owner].append(seen)
    fine = {seen.owner for seen in trace.of(ParameterSeen) if seen.nonzero}
    return {owner: seen for owner, seen in found.items() if owner not in fine}
