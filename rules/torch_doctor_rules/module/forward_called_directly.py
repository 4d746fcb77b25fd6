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
    """`model.forward(x)` is called by name, past the hooks of the model.

    ## Why is this bad?
    `model(x)` runs what stands around `forward`: the hooks that the script has registered, those of pruning, weight and
    spectral normalisation, the gathering of `fully_shard`, and the code that `model.compile()` has made. Code that runs a
    model, a loop, a step or an inference function, silently goes past all of that with `model.forward(x)`.

    ## Example
    ```python
    import torch
    from torch import nn

    model = nn.Linear(4, 1)
    model.register_forward_pre_hook(lambda module, given: (given[0].clamp(-1, 1),))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x, y = torch.randn(8, 4), torch.randn(8, 1)
    for _ in range(3):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model.forward(x), y)
        loss.backward()
        optimizer.step()
    ```

    ## Use instead
    ```python
    import torch
    from torch import nn

    model = nn.Linear(4, 1)
    model.register_forward_pre_hook(lambda module, given: (given[0].clamp(-1, 1),))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x, y = torch.randn(8, 4), torch.randn(8, 1)
    for _ in range(3):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
    ```

    ## How the probe confirms it
    The call is executed, on a module with hooks whose `__call__` is torch's, by code that is none of its methods. It counts
    the calls and the hooks that they went past.

    ## When it is not reported
    Where calling the model is known to do nothing else, or nobody knows: its hooks are those of its layers, which run either
    way, or are taken out again; `DataParallel` and `DistributedDataParallel` do their work in their own `forward`.
    Inside another module's `forward` or `__init__`, unless that has just built the model for itself, for
    `super().forward(...)` and parent classes, for `self.forward(...)` in the module's own methods, for what is no module (a
    loader, an extension, an `autograd.Function`), for classes with a `__call__` of their own, for what `torch.compile`
    returned, and in tests, where `forward` itself is what is tested. The first such call of one model in a file stands for
    the others.

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
            trail = [] if made is None else [Step(made.site, f"`{event.name}` is built here")]
            trail += [] if event.put_at is None else [Step(event.put_at, f"what is skipped: {event.skips}")]
            yield self.finding(
                event.site,
                message("`{name}.forward` is called by name, past " + event.skips, name=event.name),
                help=f"call the module: `{event.name}(...)`",
                trail=trail,
                cause=models(trace, (event.module,), event),
                edits=[Attribute(event.site, "")],
            )

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Whether the call ran, and was none of a module, one of its own, or one inside another's `forward`, or skips nothing."""
        found = at(trace, finding.site, ForwardByName)
        if found and any(step.note.endswith(COMPILED) for step in finding.trail):
            return "the probe compiles nothing, so that the call went past no compiled code"
        return any(not _skips(event) for event in found) or bool(counted(trace, finding.site, SO_MEANT))

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """How often it was called, and past how many hooks."""
        for event in at(trace, finding.site, ForwardByName)[:1]:
            times, hooks = number(trace, claims.FORWARDS_BY_NAME, event), number(trace, claims.HOOKS_SKIPPED, event)
            if times is not None:
                skipped = f"past {count(hooks, 'hook')}" if hooks else "where no hook would run"
                if event.within:
                    skipped = "within the call of a module"
                text = f"called {count(times, 'time')} by name, {skipped}"
                yield fact(text, times, "calls", event)
            return
        if often := counted(trace, finding.site, SO_MEANT):
            yield fact(f"called {count(often, 'time')}, where calling it is no other way", often, "calls")


def _skips(event: ForwardByName) -> bool:
    """Whether code that runs the model goes past something that its call would have done."""
    return bool(event.skips) and not event.within
