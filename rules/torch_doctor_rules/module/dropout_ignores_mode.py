"""TDR306: functional dropout, or one that is built in `forward`, stays active in evaluation mode."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.edits import Figure, Keyword, Wrap
from torch_doctor.rule import Evidence, Finding, Fix, Level, Rule
from torch_doctor.trace import FunctionalDropout, Trace, claims
from torch_doctor_rules.judging.evidence import at, count, counted, fact
from torch_doctor_rules.judging.sites import first_per_site
from torch_doctor_rules.judging.wording import message

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.edits import Edit

IN_TRAINING = claims.DROPOUTS_IN_TRAINING
WITHOUT = claims.EVALUATIONS_WITHOUT_DROPOUT


class DropoutIgnoresMode(Rule):
    """Functional dropout in `forward` ignores the mode, and stays active in evaluation; so does `nn.Dropout` created there.

    ## Why is this bad?
    `model.eval()` switches off `nn.Dropout`. `F.dropout` has a `training` argument instead, which defaults to `True`.
    Attention functions get a rate (`dropout_p`) and no mode at all. An `nn.Dropout` that `forward` creates is new in each
    call, and a new module is in training mode. Validation scores and predictions are then computed with dropout, and
    differ from call to call.

    ## Example
    ```python
    import torch.nn.functional as F


    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(4, 2)

        def forward(self, x):
            return self.layer(F.dropout(x, p=0.5))


    net = Net().eval()
    print(net(torch.ones(1, 4)), net(torch.ones(1, 4)))
    ```

    ## Use instead
    ```diff
         def forward(self, x):
    -        return self.layer(F.dropout(x, p=0.5))
    +        return self.layer(F.dropout(x, p=0.5, training=self.training))
    ```

    ## How the probe confirms it
    The call runs while its module is in evaluation mode. The probe counts the elements that the call sets to zero; for
    attention, it reads the rate.

    ## When it is not reported
    - `training` is passed, by name, by position or possibly in `*args` and `**kwargs` (`training=True` is Monte Carlo
      dropout on purpose).
    - A branch checks the mode or an argument of the function, or returns before the call.
    - The rate is 0 in at least one call. A command line option that is 0 by default is no reason: it is there to be set.
    - The rate depends on the mode, on the caller of `forward`, on unresolved code, or on an attribute that another
      method sets. A caller that passes the rate to another function may also have checked the mode.
    - The call is outside of a module, or runs while one is created.
    - `forward` creates the module, and sets its mode or registers it.

    ## References
    - https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.dropout.html
    - https://docs.pytorch.org/docs/stable/generated/torch.nn.Dropout.html
    """

    code = "TDR306"
    name = "dropout-ignores-mode"
    level = Level.ERROR
    witness = "SP"
    fix = Fix.SAFE
    fix_changes = frozenset({Figure.OUTPUTS})
    only_confirms = True

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Every such call."""
        switched_off = {event.site for event in trace.of(FunctionalDropout) if event.off}
        for event in first_per_site(each for each in trace.of(FunctionalDropout) if each.site not in switched_off):
            name = event.function.replace("torch.nn.functional", "F")
            text = "`{name}` is called without `training`: dropout stays active in evaluation mode"
            remedy, edit = "pass `training=self.training`", Keyword(event.site, "training", "self.training")
            if event.rate_site is not None or event.rate:
                name = name.rpartition(".")[2]
                text = "`{name}` ignores the mode: dropout stays active in evaluation mode"
                remedy = "pass the rate only in training: add `if self.training else 0.0`"
            edits: list[Edit] = [edit]
            if event.rate_site is not None:
                edits = [Wrap(event.rate_site, "{} if self.training else 0.0")]
            elif event.function.startswith("torch.nn.Dropout"):
                text = "`{name}` is created in `forward`: dropout stays active in evaluation mode"
                name, remedy = event.function.removeprefix("torch."), "create it in `__init__`, as a part of the module"
                edits = [Wrap(event.built_at, "{}.train(self.training)")] if event.method and event.built_at else []
            yield self.finding(event.site, message(text, name=name), help=remedy, edits=edits)

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Whether the module was called in evaluation mode without coming there."""
        if counted(trace, finding.site, WITHOUT):
            return True
        return (
            "it ran only in training mode, where dropout is correct"
            if counted(trace, finding.site, IN_TRAINING)
            else False
        )

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """How much it drops in evaluation."""
        for event in at(trace, finding.site, FunctionalDropout)[:1]:
            text = f"in evaluation mode it set {event.dropped:,} of {count(event.elements, 'element')} to zero"
            if event.rate:
                text = f"in evaluation mode it drops with probability {event.rate:g}"
            yield fact(text, event.rate or event.dropped, "" if event.rate else "elements", event)
            return
        if often := counted(trace, finding.site, WITHOUT):
            yield fact(f"{count(often, 'evaluation')} of its module did not reach this line", often, "evaluations")
