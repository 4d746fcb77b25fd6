"""TDR304: a layer that is made anew with every call."""

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
    """A layer with weights is built in `forward`, anew with every call.

    ## Why is this bad?
    Every call draws new random weights. They are in no `parameters()` when the optimizer is built, so nothing trains them,
    in no checkpoint, and not where the model was moved to. The model trains around the noise, and answers differently
    every time.

    ## Example
    ```python
    import torch
    from torch import nn


    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.hidden = nn.Linear(4, 8)

        def forward(self, x):
            return nn.Linear(8, 1)(torch.relu(self.hidden(x)))


    print(Block()(torch.randn(2, 4)).shape)
    ```

    ## Use instead
    ```python
    import torch
    from torch import nn


    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.hidden = nn.Linear(4, 8)
            self.out = nn.Linear(8, 1)

        def forward(self, x):
            return self.out(torch.relu(self.hidden(x)))


    print(Block()(torch.randn(2, 4)).shape)
    ```

    ## How the probe confirms it
    It sees every module and parameter that is made while a model is called, and counts those with something to train that
    are no part of the model afterwards, or that come anew with the next call.

    ## When it is not reported
    For layers without weights (activations, pooling, softmax), for layers that become part of the module behind a branch
    (built when the first input tells their size), for weights that are loaded or assigned (networks whose weights another
    one computes), and for frozen ones.

    ## References
    - https://docs.pytorch.org/docs/stable/notes/modules.html
    - https://docs.pytorch.org/docs/stable/generated/torch.nn.modules.lazy.LazyModuleMixin.html
    """

    code = "TDR304"
    name = "layer-built-in-forward"
    level = Level.ERROR
    witness = "SP"
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
                message("`{name}` is built in every forward: new random weights, never trained", name=short),
                help=f"build it in `{event.owner_class or 'the module'}.__init__` and keep it as an attribute",
                trail=[] if event.used_at == event.site else [Step(event.used_at, "it is used here")],
            )

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Whether something was built there, once, and is part of the model."""
        return bool(counted(trace, finding.site, STAYED))

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """How many weights are lost, how often."""
        events = at(trace, finding.site, BuiltInForward)
        for event in events[-1:]:
            what = "numbers of it that nobody trains" if not event.registered else "numbers of it that are replaced"
            text = f"built {count(event.times, 'time')} by forwards, with {event.elements:,} {what}"
            yield fact(text, event.elements, "numbers", event)
            return
        if stayed := counted(trace, finding.site, STAYED):
            yield fact(f"{count(stayed, 'layer')} built there, and part of the model since", stayed, "layers")
