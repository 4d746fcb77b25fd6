"""TDR208: a loss gets the target as its first argument."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.edits import Figure, Swap
from torch_doctor.rule import Evidence, Finding, Fix, Level, Rule, Step
from torch_doctor.trace import Forward, LossCalled, Trace
from torch_doctor_rules.judging.evidence import at, fact
from torch_doctor_rules.judging.loss_inputs import swapped
from torch_doctor_rules.judging.sites import first_per_site
from torch_doctor_rules.judging.wording import message, named

if TYPE_CHECKING:
    from collections.abc import Iterator


class LossArgumentsSwapped(Rule):
    """A loss gets the target as its first argument and the prediction as its second.

    ## Why is this bad?
    The losses of torch take the prediction first. If the arguments are swapped, cross-entropy with class indices raises
    an error. With soft labels, and in binary losses, no error is raised: the loss takes the logarithm of the labels and
    is linear in the prediction. It drives the scores to infinity, and the model learns nothing useful.

    ## Example
    ```python
    loader = DataLoader(TensorDataset(torch.randn(64, 4), torch.rand(64, 1)), batch_size=16, shuffle=True)
    model = nn.Sequential(nn.Linear(4, 1), nn.Sigmoid())
    criterion = nn.BCELoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    for epoch in range(2):
        for x, y in loader:
            optimizer.zero_grad()
            criterion(y, model(x)).backward()
            optimizer.step()
    ```

    ## Use instead
    ```diff
             optimizer.zero_grad()
    -        criterion(y, model(x)).backward()
    +        criterion(model(x), y).backward()
             optimizer.step()
    ```

    ## How the probe confirms it
    The first argument has no graph and does not come from a model, and the second one does.

    ## When it is not reported
    - For symmetric losses (`MSELoss`, `L1Loss` and similar).
    - For functions of the project that define their own order of arguments.
    - If it is unknown whether the first argument is data.

    ## References
    - https://docs.pytorch.org/docs/stable/generated/torch.nn.CrossEntropyLoss.html
    - https://docs.pytorch.org/docs/stable/generated/torch.nn.BCELoss.html
    """

    code = "TDR208"
    name = "loss-arguments-swapped"
    level = Level.ERROR
    witness = "SP"
    voided_by = frozenset({"inside"})
    fix = Fix.UNSAFE
    fix_changes = frozenset({Figure.LOSS, Figure.GRADIENTS, Figure.UPDATES})

    def check(self, trace: Trace) -> Iterator[Finding]:
        """The first call at each place with data first and a model's output second."""
        for loss in first_per_site(each for each in trace.of(LossCalled) if swapped(trace, each)):
            text = "`{loss}` gets the target first: `{first}` is treated as the prediction"
            yield self.finding(
                loss.site,
                message(text, loss=loss.name, first=named(loss.input.name, "the data")),
                help="swap the arguments: pass the prediction first, then the target",
                trail=self._trail(trace, loss),
                edits=[Swap(loss.site)],
            )

    def _trail(self, trace: Trace, loss: LossCalled) -> Iterator[Step]:
        for forward in trace.at(*sorted(loss.target.graph_forwards)[-1:]):
            if isinstance(forward, Forward):
                yield Step(forward.site, f"`{forward.name}` computes the prediction here")

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Whether the loss was computed with a prediction first."""
        losses = at(trace, finding.site, LossCalled)
        if losses and not any(loss.input.graph or loss.input.forwards for loss in losses):
            return "the probe run does not show which argument is the prediction"
        return bool(losses)

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """How many of the losses were computed so."""
        losses = at(trace, finding.site, LossCalled)
        wrong = [loss for loss in losses if swapped(trace, loss)]
        if losses:
            yield fact(
                f"{len(wrong)} of {len(losses)} loss calls got data in place of the prediction",
                len(wrong),
                "losses",
                losses[0],
            )
        for loss in wrong[:1]:
            if loss.raised:
                yield fact(f"torch raised: {loss.raised}", None, "", loss)
