"""TDR606: `load_state_dict` is given a path, or what it returns is taken for the model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.edits import Discard, Figure, Wrap
from torch_doctor.rule import Evidence, Finding, Fix, Level, Rule, Step
from torch_doctor.trace import Loaded, LoadMisused, OptimizerRestored, Trace
from torch_doctor_rules.judging.evidence import at, count, fact
from torch_doctor_rules.judging.sites import first_per_site
from torch_doctor_rules.judging.wording import message, named

if TYPE_CHECKING:
    from collections.abc import Iterator


class LoadResultMisused(Rule):
    """`load_state_dict` gets a file name, loads nothing, or its result is used as the model.

    ## Why is this bad?
    `load_state_dict` works in place and returns the keys that were missing or unexpected: after
    `model = model.load_state_dict(state)` the name holds these, and the next call fails. It takes a dict of tensors, not
    the name of the file. With `strict=False` it says nothing when no key fits, and the model keeps its random weights.

    ## Example
    ```python
    import copy

    import torch
    from torch import nn

    model = nn.Linear(4, 1)
    best = copy.deepcopy(model.state_dict())
    model = model.load_state_dict(best)
    print(model(torch.randn(2, 4)).mean().item())
    ```

    ## Use instead
    ```python
    import copy

    import torch
    from torch import nn

    model = nn.Linear(4, 1)
    best = copy.deepcopy(model.state_dict())
    model.load_state_dict(best)
    print(model(torch.randn(2, 4)).mean().item())
    ```

    ## How the probe confirms it
    The name is bound to the result of the load, or the load raises for the string it was given, or none of the keys it was
    given is in the model.

    ## When it is not reported
    When the result gets another name and is only read for its keys, for classes with a `load_state_dict` of their own, and
    when some of the keys fit.

    ## References
    - https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.load_state_dict
    - https://docs.pytorch.org/tutorials/beginner/saving_loading_models.html
    """

    code = "TDR606"
    name = "load-result-misused"
    level = Level.ERROR
    witness = "SP"
    fix = Fix.SAFE
    fix_changes = frozenset({Figure.OUTPUTS})

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Every load that was misunderstood, or loaded nothing."""
        for event in first_per_site(trace.of(LoadMisused)):
            text, advice = self._said(event)
            yield self.finding(
                event.site,
                message(text, name=named(event.name, "the model"), path=event.path, example=event.example),
                help=advice,
                trail=[Step(event.fails_at, "the result is used here")] if event.fails_at is not None else (),
                edits=_edits(event),
            )

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Whether the load ran, and there was nothing wrong with it."""
        if not at(trace, finding.site, Loaded) and not at(trace, finding.site, OptimizerRestored):
            return False
        return (trace.run is not None and trace.run.end.how != "killed") or "the run ended before the result was used"

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """What the load was given, or what was made of its result."""
        for event in at(trace, finding.site, LoadMisused)[:1]:
            if event.keys:
                yield fact(f"none of {count(event.keys, 'key')} is in the model", event.keys, "keys", event)
            elif event.path:
                yield fact("the load was given a string", event.path, "", event)
            else:
                yield fact(f"what came back from the load is a {event.result}", event.result, "", event)

    def _said(self, event: LoadMisused) -> tuple[str, str]:
        if event.path:
            return "`{name}.load_state_dict` gets the string `{path}`: it takes the state", "give it `torch.load(…)`"
        if event.keys:
            text = "no key fits `{name}`, and `strict=False` is silent: `{example}` is not in it"
            return text, "rename the keys, or look at what `load_state_dict` returns"
        verb = "is overwritten with" if event.overwritten else "is taken for"
        return f"`{{name}}` {verb} what `load_state_dict` returns: a list of keys", "call it without using its result"


def _edits(event: LoadMisused) -> list[Discard | Wrap]:
    if event.keys:
        return []
    if event.path:
        return [Wrap(event.site, "$torch.load({}, weights_only=True)", argument=0)]
    return [Discard(event.site)]
