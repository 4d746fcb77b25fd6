"""TDR305: `model.forward(x)` instead of `model(x)`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.edits import Attribute, Figure
from torch_doctor.rule import Evidence, Finding, Fix, Level, Rule, Step
from torch_doctor.trace import ForwardByName, ModuleBuilt, Trace, claims
from torch_doctor_rules.judging.causes import models
from torch_doctor_rules.judging.evidence import at, count, counted, fact, number
from torch_doctor_rules.judging.sites import first_per_site
from torch_doctor_rules.judging.testing import in_a_test
from torch_doctor_rules.judging.wording import message

if TYPE_CHECKING:
    from collections.abc import Iterator

COMPILED = "its compiled code"
SO_MEANT = claims.FORWARDS_OTHERWISE


class ForwardCalledDirectly(Rule):
    """`model.forward(x)` is called directly, which skips the hooks of the model.

    ## Why is this bad?
    `model(x)` also runs the code around `forward`: registered hooks, pruning, weight and spectral normalization, the
    parameter gathering of `fully_shard`, and the code compiled by `model.compile()`. A training loop, training step or
    inference function that calls `model.forward(x)` skips all of that. No error is raised.

    ## Example
    ```python
    model.register_forward_pre_hook(lambda module, given: (given[0].clamp(-1, 1),))
    x, y = torch.randn(8, 4), torch.randn(8, 1)
    for _ in range(3):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model.forward(x), y)
        loss.backward()
        optimizer.step()
    ```

    ## Use instead
    ```diff
         optimizer.zero_grad()
    -    loss = nn.functional.mse_loss(model.forward(x), y)
    +    loss = nn.functional.mse_loss(model(x), y)
         loss.backward()
    ```

    ## How the probe confirms it
    The call runs on a module that has hooks and does not override `__call__`, in code outside of the module's own
    methods. The evidence is the number of calls, and of the hooks that they skip.

    ## When it is not reported
    - Calling the model does nothing else, or it is unknown whether it does. Hooks of its layers run either way, hooks
      may be removed again, and `DataParallel` and `DistributedDataParallel` do their work in their own `forward`.
    - The call is inside another module's `forward` or `__init__`, unless that has just created the model.
    - The call is `super().forward(...)` or one of a parent class, or `self.forward(...)` in the module's own methods.
    - The object is not a module (a data loader, an extension, an `autograd.Function`), defines its own `__call__`, or
      is the result of `torch.compile`.
    - The call is in a test, where `forward` itself is tested.

    If a file calls `forward` of one model several times, only the first call is reported.

    ## References
    - https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html
    - https://docs.pytorch.org/docs/stable/notes/modules.html
    """

    code = "TDR305"
    name = "forward-called-directly"
    level = Level.WARNING
    witness = "SP"
    voided_by = frozenset({"bases"})
    fix = Fix.SAFE
    fix_changes = frozenset({Figure.OUTPUTS})

    def check(self, trace: Trace) -> Iterator[Finding]:
        """The first such call of each model in each file."""
        built = {event.module: event for event in trace.of(ModuleBuilt)}
        running = (event for event in trace.of(ForwardByName) if _skips(event) and not in_a_test(event))
        for event in first_per_site(running):
            made = built.get(event.module)
            trail = [] if made is None else [Step(made.site, f"`{event.name}` is created here")]
            trail += [] if event.put_at is None else [Step(event.put_at, f"the call skips {event.skips}")]
            yield self.finding(
                event.site,
                message("`{name}.forward` is called directly, which skips " + event.skips, name=event.name),
                help=f"call the module itself: `{event.name}(...)`",
                trail=trail,
                cause=models(trace, (event.module,), event),
                edits=[Attribute(event.site, "")],
            )

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Whether the call ran, and was none of a module, one of its own, or one inside another's `forward`, or skips nothing."""
        found = at(trace, finding.site, ForwardByName)
        if found and any(step.note.endswith(COMPILED) for step in finding.trail):
            return "the probe does not compile models, so no compiled code was skipped"
        return any(not _skips(event) for event in found) or bool(counted(trace, finding.site, SO_MEANT))

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """How often it was called, and past how many hooks."""
        for event in at(trace, finding.site, ForwardByName)[:1]:
            times, hooks = number(trace, claims.FORWARDS_BY_NAME, event), number(trace, claims.HOOKS_SKIPPED, event)
            if times is not None:
                skipped = f"skipping {count(hooks, 'hook')}" if hooks else "without hooks to skip"
                if event.within:
                    skipped = "inside the call of a module"
                text = f"called directly {count(times, 'time')}, {skipped}"
                yield fact(text, times, "calls", event)
            return
        if often := counted(trace, finding.site, SO_MEANT):
            yield fact(
                f"called {count(often, 'time')}, where calling the object itself makes no difference", often, "calls"
            )


def _skips(event: ForwardByName) -> bool:
    """Whether code that runs the model goes past something that its call would have done."""
    return bool(event.skips) and not event.within
