"""TDR314: a module overrides `train` or `eval`, and does not set the mode."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.rule import Evidence, Finding, Level, Rule, same_place
from torch_doctor.trace import Backward, Event, ModeMethod, ModeSet, ModuleBuilt, ScopeKind, Trace
from torch_doctor_rules.judging.evidence import at, count, fact
from torch_doctor_rules.judging.sites import first_per_site
from torch_doctor_rules.judging.wording import message

if TYPE_CHECKING:
    from collections.abc import Iterator


class TrainMethodOverridden(Rule):
    """A module overrides `train` or `eval` with a method that does not set the mode.

    ## Why is this bad?
    `nn.Module.train(mode)` switches dropout and batch norm, for the module and all its submodules. If a training loop
    has the same name, it replaces that method: `model.train()` trains, or fails because arguments are missing, and the
    mode is no longer set. `model.eval()` calls `self.train(False)`, so it also ends there, and so does `train()` of any
    module that contains this one.

    ## Example
    ```python
    class Regressor(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = nn.Sequential(nn.Linear(4, 8), nn.Dropout(), nn.Linear(8, 1))

        def forward(self, x):
            return self.net(x)

        def train(self, x, optimizer):
            optimizer.zero_grad()
            self(x).pow(2).mean().backward()
            optimizer.step()


    model = Regressor()
    model.train(torch.randn(8, 4), torch.optim.SGD(model.parameters(), lr=0.1))
    ```

    ## Use instead
    ```diff
    -    def train(self, x, optimizer):
    +    def fit(self, x, optimizer):
             optimizer.zero_grad()
    ...
     model = Regressor()
    -model.train(torch.randn(8, 4), torch.optim.SGD(model.parameters(), lr=0.1))
    +model.fit(torch.randn(8, 4), torch.optim.SGD(model.parameters(), lr=0.1))
    ```

    ## How the probe confirms it
    The method cannot be called with the arguments that torch passes, or updates parameters when it runs.

    ## When it is not reported
    - Nothing in the model depends on its mode, and the mode is never set.
    - The method sets the mode and calls the base class (to keep batch norm frozen, for example), forwards the call to a
      submodule, or does nothing.
    - The class is not a module.
    - The class derives from a framework's class that defines the name differently.

    ## References
    - https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.train
    - https://docs.pytorch.org/docs/stable/notes/autograd.html#evaluation-mode-nn-module-eval
    """

    code = "TDR314"
    name = "train-method-overridden"
    level = Level.ERROR
    witness = "SP"

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Every such method of a module that is built."""
        for event in first_per_site(e for e in trace.of(ModeMethod) if _wrong(e) and _is_asked(trace, e)):
            if event.needs:
                text = "`{name}` requires `{first}`: calling `{method}()` fails instead of setting the mode"
            elif event.trains:
                text = "`{name}` trains the model: calling `{method}()` no longer sets the mode"
            else:
                text = "`{name}` does not set the mode: dropout and batch norm are not switched"
            named = f"{event.class_name}.{event.method}"
            first = event.needs[0] if event.needs else ""
            yield self.finding(
                event.site,
                message(text, name=named, first=first, method=event.method),
                help="rename the method: `nn.Module` already uses its name",
            )

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Whether such a module was built: what its method needs is known then."""
        return "the probe run does not show what the method does" if at(trace, finding.site, ModeMethod) else False

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """What it needs, or how often it trained."""
        for event in at(trace, finding.site, ModeMethod)[:1]:
            often = _backwards(trace, event)
            if event.needs:
                text = f"it requires {count(len(event.needs), 'argument')} that torch does not pass"
                yield fact(text, len(event.needs), "arguments", event)
            elif often:
                yield fact(f"{count(often, 'backward pass', 'backward passes')} ran in it", often, "times", event)
            else:
                yield fact("it sets the mode of 0 modules", 0, "modules", event)


def _wrong(event: ModeMethod) -> bool:
    if event.needs:
        return len(event.needs) > 1 or not event.takes_mode or event.trains
    return not event.calls_base and (event.trains or not event.switches)


def _is_asked(trace: Trace, event: ModeMethod) -> bool:
    """Whether a part of such a module cares about the mode, or somebody sets that by the methods which torch has left."""
    built = [each for each in trace.of(ModuleBuilt) if each.site == event.built_at]
    modules = {each.module for each in built}
    return any(each.sensitive for each in built) or any(
        each.module in modules and not _is_in(each, event) for each in trace.of(ModeSet)
    )


def _is_in(inner: Event, event: ModeMethod) -> bool:
    """Whether something happens inside the method."""
    return any(scope.kind is ScopeKind.CALL and same_place(scope.site, event.site) for scope in inner.scope.chain())


def _backwards(trace: Trace, event: ModeMethod) -> int:
    """The backward passes that ran inside the method."""
    return sum(_is_in(backward, event) for backward in trace.of(Backward))
