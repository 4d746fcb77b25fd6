"""TDR310: a layer is never called."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.rule import Evidence, Finding, Level, Rule
from torch_doctor.trace import LayerRegistered, Loaded, Trace
from torch_doctor_rules.judging.evidence import at, count, fact
from torch_doctor_rules.judging.sites import first_per_site
from torch_doctor_rules.judging.wording import message

if TYPE_CHECKING:
    from collections.abc import Iterator


class LayerNeverUsed(Rule):
    """A module has a layer with parameters that is never called.

    ## Why is this bad?
    A layer that was meant to be part of the network is not, so it never learns. Its parameters use memory, keep their
    random initial values and are saved in every checkpoint. `DistributedDataParallel` fails, because it waits for the
    gradients of all parameters.

    ## Example
    ```python
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc1 = nn.Linear(4, 8)
            self.norm = nn.LayerNorm(8)
            self.fc2 = nn.Linear(8, 2)

        def forward(self, x):
            return self.fc2(torch.relu(self.fc1(x)))


    print(Net()(torch.randn(2, 4)).shape)
    ```

    ## Use instead
    ```diff
         def forward(self, x):
    -        return self.fc2(torch.relu(self.fc1(x)))
    +        return self.fc2(torch.relu(self.norm(self.fc1(x))))
    ```

    ## How the probe confirms it
    The module ran, but neither the layer nor any part of it did, and its parameters got no gradient.

    ## When it is not reported
    - Anything in the project reads an attribute of that name from the module, from a module that contains it or from a
      subclass.
    - The layer has no parameters, like activations and dropout.
    - The layers are accessed without names (`children()`, `_modules`, a computed `getattr`).
    - Weights are loaded, whose names the module has to have, or the file loads published weights.
    - The layer is a loss, or the module has no `forward` of its own.
    - `DistributedDataParallel` waits for the layer's gradient: TDR816 reports it instead.

    ## References
    - https://docs.pytorch.org/docs/stable/notes/modules.html
    - https://docs.pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html
    """

    code = "TDR310"
    name = "layer-never-used"
    level = Level.WARNING
    witness = "SP"
    step_of = frozenset({"TDR816"})  # it stops the training
    needs_end = True
    needs = frozenset(("reach",))
    voided_by = frozenset({"shapes", "bases", "inside"})

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Every layer that is not reached and that no method names."""
        loaded = {event.module for event in trace.of(Loaded)}
        wrong = (
            event
            for event in trace.of(LayerRegistered)
            if not event.reached and not event.named and not event.bare and event.owner not in loaded
        )
        for event in first_per_site(wrong):
            yield self.finding(
                event.site,
                message(
                    "`self.{name}` is never used in `{owner}.forward`, so it is never trained",
                    name=event.name,
                    owner=event.owner_class,
                ),
                help="call it in `forward`, or remove it",
                cause=event.owner_class,
            )

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Whether the module ran, and the layer in it."""
        found = at(trace, finding.site, LayerRegistered)
        if any(not event.reached for event in found):
            return "it did not run, but a method refers to it or weights are loaded into it"
        return bool(found)

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """How often its owner ran without it."""
        for event in at(trace, finding.site, LayerRegistered)[:1]:
            calls = count(event.forwards, "call")
            said = f"it ran in {calls}" if event.reached else f"it ran in none of {calls}"
            size = (
                f": {count(event.elements, 'parameter')} without a gradient"
                if event.elements and not event.reached
                else ""
            )
            yield fact(f"{said} of `{event.owner_class}`{size}", event.forwards, "calls", event)
