"""TDR404: `no_grad` is used where `inference_mode` is faster."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.edits import Attribute, Figure
from torch_doctor.rule import Finding, Fix, Level, Rule, Step
from torch_doctor.trace import (
    ANY,
    Backward,
    Escaped,
    Forward,
    GradModeEntered,
    GradModeExited,
    Stepped,
    Stored,
    ZeroGrad,
)
from torch_doctor_rules.judging.passes import Passes
from torch_doctor_rules.judging.sites import first_per_site
from torch_doctor_rules.judging.wording import message

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Event, Site, Trace

SINCE = (1, 9)
"""The version of torch that brought `inference_mode`."""


class NoGradForServing(Rule):
    """Results that autograd never uses are computed under `no_grad` instead of `inference_mode`.

    ## Why is this bad?
    `no_grad` builds no graph, but every tensor still tracks its version and its views, in case autograd uses it later.
    `inference_mode` skips that too, which is faster for models with many small operations.

    ## Example
    ```python
    model = nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x in torch.randn(8, 16, 4):
        optimizer.zero_grad()
        model(x).pow(2).mean().backward()
        optimizer.step()

    model.eval()
    with torch.no_grad():
        for x in torch.randn(3, 16, 4):
            print(model(x).argmax(dim=1))
    ```

    ## Use instead
    ```diff
     model.eval()
    -with torch.no_grad():
    +with torch.inference_mode():
         for x in torch.randn(3, 16, 4):
    ```

    ## How the probe confirms it
    It does not: this is advice that is based on the source, and off by default.

    ## When it is not reported
    - A result may be used in a loss (teachers, targets, pseudo labels), is stored, or is passed to unresolved code.
    - Weights are changed in the context.
    - No model is called in it, or one in training mode is.
    - The project allows torch before 1.9.

    ## References
    - https://docs.pytorch.org/docs/stable/notes/autograd.html#inference-mode
    - https://docs.pytorch.org/docs/stable/generated/torch.autograd.grad_mode.inference_mode.html
    """

    code = "TDR404"
    name = "no-grad-for-serving"
    level = Level.ADVICE
    witness = "S"
    fix = Fix.UNSAFE
    fix_changes = frozenset[Figure]()

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Every `no_grad` in which models are called, and nothing that comes of it goes back to autograd."""
        contexts = [event for event in trace.of(GradModeEntered) if event.context == "torch.no_grad"]
        if not contexts or (trace.torch() != ANY and trace.torch().oldest < SINCE):
            return
        passes = trace.view(Passes)
        stored = frozenset[int]().union(
            *(event.forwards for event in trace.of(Stored)),
            *(event.forwards for event in trace.of(Escaped) if event.returned),
        )
        served: dict[Site, list[Forward]] = {}
        other: set[Site] = set()
        for context in contexts:
            inside = list(_within(trace, context))
            forwards = [event for event in inside if isinstance(event, Forward)]
            served.setdefault(context.site, []).extend(forwards)
            if any(map(_trains, inside)) or any(
                forward.training is not False or passes.goes_backward(forward) or forward.index in stored
                for forward in forwards
            ):
                other.add(context.site)
        for context in first_per_site(contexts):
            if served[context.site] and context.site not in other:
                forward = served[context.site][0]
                yield self.finding(
                    context.site,
                    message(
                        "autograd never uses the output of `{name}`: `inference_mode` is faster than `no_grad`",
                        name=forward.name,
                    ),
                    help="use `torch.inference_mode()`",
                    trail=[Step(forward.site, "the model is called here")],
                    edits=[Attribute(context.site, "inference_mode")],
                )


def _within(trace: Trace, context: GradModeEntered) -> Iterator[Event]:
    """What happens while the context is entered: until it is left, or the function that enters it returns."""
    for event in trace.after(context):
        if isinstance(event, GradModeExited) and event.site == context.site and event.scope is context.scope:
            return
        if context.scope in event.scope.chain():
            yield event


def _trains(event: Event) -> bool:
    """Whether it is what a training loop does, or lets autograd record again."""
    return isinstance(event, (Backward, Stepped, ZeroGrad)) or (
        isinstance(event, GradModeEntered) and event.enabled is not False
    )
