"""TDX101: plain SGD, which keeps nothing from step to step."""

from collections.abc import Iterator

from torch_doctor.rule import Finding, Level, Rule
from torch_doctor.trace import OptimizerBuilt, Trace


class SgdWithoutMomentum(Rule):
    """An `SGD` optimizer is built without momentum.

    ## Why is this bad?
    Each step of plain SGD follows the noise of one batch, and it crawls along narrow
    valleys. With momentum the steps average out the noise, at the cost of one more
    copy of the parameters.

    ## Example
    ```python
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    ```

    ## Use instead
    ```diff
    -optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    +optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    ```

    ## How the probe confirms it
    The optimizer that is built there has a momentum of 0; one with momentum refutes it.

    ## When it is not reported
    For every other optimizer, and where nobody can tell which momentum it is given.

    ## References
    - https://docs.pytorch.org/docs/stable/generated/torch.optim.SGD.html
    """

    code = "TDX101"
    name = "sgd-without-momentum"
    level = Level.WARNING
    witness = "SP"

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Every SGD of which it is certain that it has no momentum."""
        for event in trace.of(OptimizerBuilt):
            if event.class_name == "torch.optim.SGD" and event.remembers is False:
                optimizer = f"`{event.name}`" if event.name else "the optimizer"
                yield self.finding(
                    event.site,
                    f"{optimizer} is SGD without momentum: each step follows one batch",
                    help="give it momentum, such as `momentum=0.9`",
                )

    def reached(self, trace: Trace, finding: Finding) -> bool:
        """Whether the run built an optimizer there: `check` found nothing wrong with it."""
        return any(
            event.site.row == finding.site.row for event in trace.of(OptimizerBuilt)
        )
