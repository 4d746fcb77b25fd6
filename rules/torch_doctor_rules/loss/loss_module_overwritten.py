"""TDR215: the loss function is overwritten with the loss."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.edits import Figure, Rename
from torch_doctor.rule import Evidence, Finding, Fix, Level, Rule, Step, same_place
from torch_doctor.trace import Backward, Kind, LossCalled, Overwritten, Trace
from torch_doctor_rules.judging.evidence import count, fact
from torch_doctor_rules.judging.sites import first_per_site
from torch_doctor_rules.judging.wording import message

if TYPE_CHECKING:
    from collections.abc import Iterator

TWICE = 2
NAMES = ("loss", "loss_value", "value")


class LossModuleOverwritten(Rule):
    """The loss function is overwritten with the loss value, and the next call fails.

    ## Why is this bad?
    After `criterion = criterion(output, target)`, `criterion` is the loss of the first batch. The second batch calls
    that tensor, and the script fails with `TypeError: 'Tensor' object is not callable`. Inside a function the name is a
    local variable without a value yet, and a module rejects a tensor where a layer is registered: in both cases the
    first batch fails already.

    ## Example
    ```python
    loss = nn.MSELoss()

    for _ in range(10):
        inputs, targets = torch.randn(16, 4), torch.randn(16, 1)
        loss = loss(model(inputs), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Use instead
    ```diff
    -loss = nn.MSELoss()
    +criterion = nn.MSELoss()
    ...
         inputs, targets = torch.randn(16, 4), torch.randn(16, 1)
    -    loss = loss(model(inputs), targets)
    +    loss = criterion(model(inputs), targets)
         optimizer.zero_grad()
    ```

    ## How the probe confirms it
    The statement raises, because the object it calls is the tensor that it assigned before.

    ## When it is not reported
    - The loss function is created again before the next call.
    - The name is a parameter of a function that assigns it once per call.
    - The overwritten function is not a loss.

    ## References
    - https://docs.pytorch.org/tutorials/beginner/basics/optimization_tutorial.html
    - https://docs.python.org/3/faq/programming.html#why-am-i-getting-an-unboundlocalerror-when-the-variable-has-a-value
    """

    code = "TDR215"
    name = "loss-module-overwritten"
    level = Level.ERROR
    witness = "SP"
    fix = Fix.SAFE
    fix_changes = frozenset({Figure.LOSS})

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Every such assignment of a loss that makes the script fail."""
        wrong = (e for e in trace.of(Overwritten) if e.fails_at is not None and _of_loss(trace, e))
        for event in first_per_site(wrong):
            later = event.fails_at is not None and event.fails_at.row != event.site.row
            yield self.finding(
                event.site,
                message(
                    "`{name}` is overwritten with the loss: the next batch calls a tensor and fails", name=event.name
                ),
                help="assign the loss to another name",
                edits=[Rename(event.site, NAMES)],
                trail=[Step(event.fails_at, "the tensor is called here")] if later and event.fails_at else (),
            )

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Whether the loss was called there again and again."""
        times = self._times(trace, finding)
        return times >= TWICE or ("the loss was computed only once" if times else False)

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """What the statement raised, or how often it did not."""
        end = trace.run.end if trace.run is not None else None
        if end is not None and any(same_place(finding.site, frame.site) for frame in end.frames):
            said = end.exception.splitlines()[0]
            yield fact(f"the statement raises {said}", said.partition(":")[0])
        elif times := self._times(trace, finding):
            yield fact(f"the loss was computed {count(times, 'time')}", times, "times")

    def _times(self, trace: Trace, finding: Finding) -> int:
        return sum(same_place(finding.site, called.site) for called in trace.of(LossCalled))


def _of_loss(trace: Trace, event: Overwritten) -> bool:
    """Whether a loss is what got lost."""
    result = event.result
    if event.loss or result.kind is Kind.LOSS or (result.scalar is True and result.graph is True):
        return True
    return any(  # it went from what the name has there, not from something else of that name
        backward.name == event.name and event.scope in backward.scope.chain() for backward in trace.of(Backward)
    )
