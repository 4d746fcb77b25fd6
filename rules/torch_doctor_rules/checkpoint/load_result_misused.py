"""TDR606: `load_state_dict` gets a path, or its result is used as the model."""

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
    """`load_state_dict` gets a file name, matches no key, or its result is used as the model.

    ## Why is this bad?
    `load_state_dict` works in place and returns the missing and unexpected keys. After
    `model = model.load_state_dict(state)`, `model` is that list of keys, and the next call fails. The method takes a dict
    of tensors, not a file name. With `strict=False` it does not complain when no key matches, and the model is left with
    its random weights.

    ## Example
    ```python
    model = nn.Linear(4, 1)
    best = copy.deepcopy(model.state_dict())
    model = model.load_state_dict(best)
    print(model(torch.randn(2, 4)).mean().item())
    ```

    ## Use instead
    ```diff
     best = copy.deepcopy(model.state_dict())
    -model = model.load_state_dict(best)
    +model.load_state_dict(best)
     print(model(torch.randn(2, 4)).mean().item())
    ```

    ## How the probe confirms it
    The variable is bound to the result of `load_state_dict`, or the call raises because it got a string, or none of the
    given keys is in the model.

    ## When it is not reported
    - If the result is assigned to another name and only its keys are read.
    - For classes that define their own `load_state_dict`.
    - If some of the keys match.
    - If `load_from_checkpoint`, which returns a new LightningModule, is called on the class, or its result is kept.

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
        """Yield a finding for every misused `load_state_dict`, and for every one that matched no key."""
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
        """Return whether the load ran correctly."""
        if not at(trace, finding.site, Loaded) and not at(trace, finding.site, OptimizerRestored):
            return False
        return (
            trace.run is not None and trace.run.end.how != "killed"
        ) or "the run was stopped before the result was used"

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """Yield what `load_state_dict` got or returned."""
        for event in at(trace, finding.site, LoadMisused)[:1]:
            if event.keys:
                yield fact(f"the model has none of the {count(event.keys, 'key')}", event.keys, "keys", event)
            elif event.path:
                yield fact("`load_state_dict` got a string", event.path, "", event)
            else:
                yield fact(f"`load_state_dict` returned a {event.result}", event.result, "", event)

    def _said(self, event: LoadMisused) -> tuple[str, str]:
        if event.path:
            text = "`{name}.load_state_dict` gets the file name `{path}`: it fails, as it needs a state dict"
            return text, "pass `torch.load(…)` instead of the file name"
        if event.keys:
            text = "no key matches `{name}`, and `strict=False` hides it: there is no `{example}`"
            return text, "rename the keys, and check the result of `load_state_dict`"
        if event.lost:
            text = "`{name}` keeps its weights: `load_from_checkpoint` returns another model, which is discarded"
            return text, "assign the model that `load_from_checkpoint` of the class returns"
        text = "`{name}` is overwritten with the result of `load_state_dict`: a list of keys, not a model"
        if not event.overwritten:
            text = "the result of `{name}.load_state_dict` is used as the model: it is only a list of keys"
        return text, "call `load_state_dict` without using its result"


def _edits(event: LoadMisused) -> list[Discard | Wrap]:
    if event.keys or event.lost:
        return []
    if event.path:
        return [Wrap(event.site, "$torch.load({}, weights_only=True)", argument=0)]
    return [Discard(event.site)]
