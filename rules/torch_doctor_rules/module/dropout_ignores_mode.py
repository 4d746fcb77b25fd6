"""TDR306: functional dropout that is on in evaluation too."""

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

IN_TRAINING = claims.DROPOUTS_IN_TRAINING
WITHOUT = claims.EVALUATIONS_WITHOUT_DROPOUT


class DropoutIgnoresMode(Rule):
    """`F.dropout(x)` in `forward` is not told the mode, and drops in evaluation too.

    ## Why is this bad?
    `nn.Dropout` is switched off by `model.eval()`. The function has a `training` argument instead, which is `True` unless
    somebody says otherwise; attention is given a rate (`dropout_p`), and no mode at all. So validation scores and predictions
    are those of a crippled network, and differ from call to call.

    ## Example
    ```python
    import torch
    import torch.nn.functional as F
    from torch import nn


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
    ```python
    import torch
    import torch.nn.functional as F
    from torch import nn


    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(4, 2)

        def forward(self, x):
            return self.layer(F.dropout(x, p=0.5, training=self.training))


    net = Net().eval()
    print(net(torch.ones(1, 4)), net(torch.ones(1, 4)))
    ```

    ## How the probe confirms it
    The call runs while its module is in evaluation mode; the numbers that it makes zero are counted, of attention the rate is read.

    ## When it is not reported
    When `training` is given, by name, by position or perhaps in `*args` and `**kwargs` (`training=True` is Monte Carlo dropout
    on purpose), when a branch asks for the mode or for an argument of the function, and in what follows a branch that returns.
    When the rate is 0 at one call at least, be it by the default of an option, or comes from the mode, from the caller of
    `forward`, from code out of sight or from an attribute that another method sets; for attention when any caller gives the
    rate; outside of modules and while one is built.

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
            text = "`{name}` is not told the mode: it drops numbers in evaluation too"
            remedy, edit = "pass `training=self.training`", Keyword(event.site, "training", "self.training")
            if event.rate_site is not None or event.rate:
                name = name.rpartition(".")[2]
                text = "`{name}` does not know the mode: it drops by this rate in evaluation too"
                remedy = "pass the rate `if self.training else 0.0`"
            yield self.finding(
                event.site,
                message(text, name=name),
                help=remedy,
                edits=[edit] if event.rate_site is None else [Wrap(event.rate_site, "{} if self.training else 0.0")],
            )

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Whether the module was called in evaluation mode without coming there."""
        if counted(trace, finding.site, WITHOUT):
            return True
        return "it ran in training mode only, where it is right" if counted(trace, finding.site, IN_TRAINING) else False

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """How much it drops in evaluation."""
        for event in at(trace, finding.site, FunctionalDropout)[:1]:
            text = f"in evaluation mode it made {event.dropped:,} of {count(event.elements, 'number')} zero"
            if event.rate:
                text = f"in evaluation mode it drops with a rate of {event.rate:g}"
            yield fact(text, event.rate or event.dropped, "" if event.rate else "numbers", event)
            return
        if often := counted(trace, finding.site, WITHOUT):
            yield fact(f"{count(often, 'evaluation')} of its module did not come here", often, "evaluations")
