"""TDR304: a layer is created in every call of `forward`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.rule import Evidence, Finding, Level, Rule, Step
from torch_doctor.trace import BuiltInForward, ModuleBuilt, OptimizerBuilt, Stepped, Trace, claims
from torch_doctor_rules.judging.evidence import at, count, counted, fact
from torch_doctor_rules.judging.sites import first_per_site
from torch_doctor_rules.judging.wording import message

if TYPE_CHECKING:
    from collections.abc import Iterator

STAYED = claims.LAYERS_STAYED


class LayerBuiltInForward(Rule):
    """A layer with weights is created in `forward`, again in every call.

    ## Why is this bad?
    Every call initializes new random weights. They are not in `parameters()` when the optimizer is created, so they are
    never trained. They are missing from checkpoints, and are not on the model's device. The rest of the model trains
    around the noise, and its output differs in every call.

    ## Example
    ```python
    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.hidden = nn.Linear(4, 8)

        def forward(self, x):
            return nn.Linear(8, 1)(torch.relu(self.hidden(x)))


    print(Block()(torch.randn(2, 4)).shape)
    ```

    ## Use instead
    ```diff
             self.hidden = nn.Linear(4, 8)
    +        self.out = nn.Linear(8, 1)

         def forward(self, x):
    -        return nn.Linear(8, 1)(torch.relu(self.hidden(x)))
    +        return self.out(torch.relu(self.hidden(x)))
    ```

    ## How the probe confirms it
    It records the modules and parameters that are created during a call of a model. It counts the trainable ones that
    are not part of the model afterwards, or that are created again in the next call.

    ## When it is not reported
    - The layer has no weights (activations, pooling, softmax).
    - It becomes part of the module in a branch (created when the size of the first input is known).
    - Its weights are loaded or assigned (hypernetworks).
    - It is frozen.

    ## References
    - https://docs.pytorch.org/docs/stable/notes/modules.html
    - https://docs.pytorch.org/docs/stable/generated/torch.nn.modules.lazy.LazyModuleMixin.html
    """

    code = "TDR304"
    name = "layer-built-in-forward"
    level = Level.ERROR
    witness = "SP"
    inside = True
    only_confirms = True

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Every such construction."""
        optimized = (event.modules for event in trace.of(OptimizerBuilt))
        stepped = (event.modules for event in trace.of(Stepped))  # of an optimizer that is built out of sight
        trained = frozenset[int]().union(*optimized, *stepped)
        of_its_own = {built.site for built in trace.of(ModuleBuilt) if built.module in trained}
        for event in first_per_site(trace.of(BuiltInForward)):
            if event.site in of_its_own:  # the forward trains it, and gives what it has learnt
                continue
            short = event.class_name.removeprefix("torch.")
            yield self.finding(
                event.site,
                message(
                    "`{name}` is created in every call of `forward`: its random weights are never trained", name=short
                ),
                help=f"create it in `{event.owner_class or 'the module'}.__init__` and assign it to an attribute",
                trail=[] if event.used_at == event.site else [Step(event.used_at, "it is used here")],
            )

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Whether something was built there, once, and is part of the model."""
        return bool(counted(trace, finding.site, STAYED))

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """How many weights are lost, how often."""
        events = at(trace, finding.site, BuiltInForward)
        for event in events[-1:]:
            what = "parameters that are never trained" if not event.registered else "parameters that are replaced"
            text = f"created {count(event.times, 'time')} in forward passes, with {event.elements:,} {what}"
            yield fact(text, event.elements, "numbers", event)
            return
        if stayed := counted(trace, finding.site, STAYED):
            yield fact(f"{count(stayed, 'layer')} created here became part of the model", stayed, "layers")
