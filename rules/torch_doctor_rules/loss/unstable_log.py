"""TDR210: the argument of a logarithm can be 0."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.edits import Figure
from torch_doctor.rule import Evidence, Finding, Fix, Level, Rule, Step
from torch_doctor.trace import Kind, LogTaken, Trace, claims
from torch_doctor_rules.judging.causes import place
from torch_doctor_rules.judging.evidence import at, fact, numbers, short
from torch_doctor_rules.judging.replacing import fused
from torch_doctor_rules.judging.sites import first_per_site
from torch_doctor_rules.judging.subjects import LOGARITHMS
from torch_doctor_rules.judging.wording import message, named

if TYPE_CHECKING:
    from collections.abc import Iterator

SOFTMAX = ("a softmax", "use `log_softmax`, or clamp the values first")
SIGMOID = ("a sigmoid", "use `logsigmoid` of the logits (of their negation for 1 - p), or clamp the values first")
RELU = ("a ReLU", "add a small constant before the logarithm, or use `softplus`")
OTHER = ("a value that rounds to 0", "add a small constant before the logarithm, or clamp the values")
TANH = ("a tanh", "add a small constant before the logarithm, or use a formula with `softplus`")
MAKERS = {
    **dict.fromkeys(("softmax", "softmax2d", "softmin"), SOFTMAX),
    **dict.fromkeys(("sigmoid", "hardsigmoid"), SIGMOID),
    "relu": RELU,
    "tanh": TANH,
}
"""The words for each operation whose output makes the argument 0, and what to use instead, by its name in lower case."""
REASONS = ("far", "end", "rounding")
"""Why the argument can be 0. What TDR219 is about, such as the end of a clamp, is not among them."""


class UnstableLog(Rule):
    """The argument of a logarithm can be 0.

    ## Why is this bad?
    Softmax and sigmoid round to exactly 0 if scores lie far apart (below about -104 in float32, much earlier in half
    precision), and 1 minus a sigmoid does so above 17. A tanh is exactly 1 above 9, so that `1 - tanh(x) ** 2` is 0. The
    logarithm of 0 is minus infinity, and its gradient is NaN. A single such value turns all weights into NaN. Long before
    that, most of the precision is lost.

    ## Example
    ```python
    loader = DataLoader(TensorDataset(torch.randn(64, 4), torch.randint(0, 3, (64,))), batch_size=16, shuffle=True)
    model = nn.Linear(4, 3)
    criterion = nn.NLLLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    for epoch in range(2):
        for x, y in loader:
            optimizer.zero_grad()
            loss = criterion(torch.log(torch.softmax(model(x), dim=1)), y)
            loss.backward()
            optimizer.step()
    ```

    ## Use instead
    ```diff
             optimizer.zero_grad()
    -        loss = criterion(torch.log(torch.softmax(model(x), dim=1)), y)
    +        loss = criterion(torch.log_softmax(model(x), dim=1), y)
             loss.backward()
    ```

    ## Fix safety
    The fix merges the logarithm with the softmax or sigmoid that it is directly applied to. The values are the same up
    to rounding, and finite where they were infinite. If the values come from elsewhere, the fix clamps them to at least
    1e-6 first. Smaller values then get no gradient.

    ## How the probe confirms it
    The logarithm gets the output of a softmax, a sigmoid or a ReLU without a clamp, or what autograd's graph shows to round
    to 0 where a sigmoid, a softmax or a tanh is 1, as `1 - tanh(x) ** 2` does. The evidence is the smallest value it gets.

    ## When it is not reported
    - A clamp, a small constant or a mask comes in between.
    - The values are averages or maxima of probabilities, or those of an index that was drawn with them (`multinomial`).
    - No gradients are recorded (a beam search, for example, ranks minus infinity last).

    If several logarithms use the output of one softmax or sigmoid, only the first one in a file is reported.

    ## References
    - https://docs.pytorch.org/docs/stable/generated/torch.nn.LogSoftmax.html
    - https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.logsigmoid.html
    - https://docs.pytorch.org/docs/stable/notes/numerical_accuracy.html
    """

    code = "TDR210"
    name = "unstable-log"
    level = Level.WARNING
    witness = "SP"
    voided_by = frozenset({"inside"})
    subject = LOGARITHMS
    fix = Fix.UNSAFE
    fix_changes = frozenset({Figure.LOSS, Figure.GRADIENTS, Figure.UPDATES, Figure.HERE})

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Every logarithm of what surely reaches 0."""
        for log in first_per_site(filter(_reaches_zero, trace.of(LogTaken))):
            maker, remedy = MAKERS.get(_maker(log), OTHER)
            operation_at = (
                log.input.operation_at if not log.maker or _maker(log) == _short(log.input.operation) else None
            )
            yield self.finding(
                log.site,
                message(
                    "`{name}` comes from " + maker + " and can be 0: its logarithm is then -inf",
                    name=named(log.input.name, "the argument"),
                ),
                help=remedy,
                trail=[] if operation_at in (None, log.site) else [Step(operation_at, f"{maker} is applied here")],
                cause=place(operation_at),
                edits=fused(log),
            )

    def speaks_alone(self, trace: Trace, finding: Finding) -> bool:
        """Return whether more than one element of each row gets there: an action that was drawn had a share above 0."""
        return not any(log.chosen for log in at(trace, finding.site, LogTaken))

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Whether the logarithm was taken of something else."""
        logs = at(trace, finding.site, LogTaken)
        if any(log.input.kind is Kind.UNKNOWN for log in logs):
            low = [value for _, value in numbers(trace, claims.SMALLEST_INPUT, *logs)]
            if not low or min(low) <= TINY:
                return "the probe run does not show where the values come from"
        return bool(logs)

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """How small the values became."""
        logs = at(trace, finding.site, LogTaken)
        low = [value for _, value in numbers(trace, claims.SMALLEST_INPUT, *logs)]
        if low:
            yield fact(f"the smallest argument of the logarithm is {short(min(low))}", min(low), "", logs[0])


TINY = 1e-12
"""Values above it were kept from 0 on purpose, or never came near."""


def _short(operation: str) -> str:
    return operation.rpartition(".")[2].rstrip("_").lower()


def _maker(log: LogTaken) -> str:
    return _short(log.maker or log.input.operation)


def _reaches_zero(log: LogTaken) -> bool:
    if log.input.graph is False:
        return False  # minus infinity is a fair score, and no gradient goes through it
    return log.zero in REASONS and (_maker(log) in MAKERS or not log.maker)
