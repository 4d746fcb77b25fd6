"""TDR214: predictions `[B, 1]` are broadcast against targets `[B]`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.edits import Figure, Wrap
from torch_doctor.rule import Evidence, Finding, Fix, Level, Rule
from torch_doctor.trace import Broadcast, LossCalled, Trace, claims
from torch_doctor_rules.judging.causes import models_behind, one_loss
from torch_doctor_rules.judging.evidence import at, count, counted, fact
from torch_doctor_rules.judging.loss_inputs import ELEMENTWISE
from torch_doctor_rules.judging.loss_shapes import column_and_row, crossed, shown
from torch_doctor_rules.judging.sites import first_per_site
from torch_doctor_rules.judging.subjects import DIFFERENCES
from torch_doctor_rules.judging.wording import message

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Site, TensorFact


class SilentBroadcast(Rule):
    """Predictions of shape `[B, 1]` are broadcast against targets of shape `[B]`, so all pairs are compared.

    ## Why is this bad?
    Tensors of different shapes are broadcast. A column and a row become a `B × B` matrix of differences, so every
    prediction is pulled towards the mean of all targets. The loss falls at first, and the model learns to predict the
    mean. torch only warns, and does not warn at all if the loss is written by hand.

    The same happens with weights, masks, rewards and advantages: the mean of `log_prob * advantage` for all pairs of a row
    and a column is the product of the two means.

    ## Example
    ```python
    loader = DataLoader(TensorDataset(torch.randn(64, 4), torch.randn(64)), batch_size=16, shuffle=True)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    for epoch in range(2):
        for x, y in loader:
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(x), y)
            loss.backward()
            optimizer.step()
    ```

    ## Use instead
    ```diff
             optimizer.zero_grad()
    -        loss = nn.functional.mse_loss(model(x), y)
    +        loss = nn.functional.mse_loss(model(x).squeeze(1), y)
             loss.backward()
    ```

    ## Fix safety
    The fix squeezes the column where the two are compared. If the targets were meant to be a column, reshape them
    instead.

    ## How the probe confirms it
    It checks the shapes at the loss call. For a loss written by hand, it checks the shapes of the difference, product,
    quotient or sum, and whether the loss sums up all elements of the result.

    ## When it is not reported
    - A shape is unknown.
    - The batch has one sample.
    - A loss with `reduction="none"` is reduced by hand.
    - The difference of all pairs is explicit: both sides have an additional dimension.
    - Products, quotients and sums: the loss does not sum up all elements of the result, the result of a function such as
      `exp` is summed up and both sides depend on the model or neither does, or only sums are averaged, which changes nothing.

    Findings that concern the same model are reported once in a file.

    ## References
    - https://docs.pytorch.org/docs/stable/notes/broadcasting.html
    - https://docs.pytorch.org/docs/stable/generated/torch.nn.MSELoss.html
    """

    code = "TDR214"
    name = "silent-broadcast"
    level = Level.ERROR
    witness = "SP"
    voided_by = frozenset({"shapes", "inside"})
    subject = DIFFERENCES
    fix = Fix.UNSAFE
    fix_changes = frozenset({Figure.LOSS, Figure.GRADIENTS, Figure.UPDATES})

    def check(self, trace: Trace) -> Iterator[Finding]:
        """The losses and differences that compare all pairs."""
        yield from first_per_site(self._found(trace))

    def _found(self, trace: Trace) -> Iterator[Finding]:
        for loss in trace.of(LossCalled):
            reduced = loss.loss in ELEMENTWISE and loss.output.scalar is True
            if reduced and _one_learns(loss.input, loss.target) and crossed(loss.input, loss.target):
                text = "`{loss}` broadcasts {one} and {other}: it compares every prediction with every target"
                words = {"loss": loss.name, "one": shown(loss.input), "other": shown(loss.target)}
                alike = [(each.input, each.target) for each in trace.of(LossCalled) if each.site == loss.site]
                yield self.finding(
                    loss.site,
                    message(text, **words),
                    help=_help(loss.input),
                    cause=one_loss(trace, loss),
                    edits=_edits(loss.site, alike),
                )
        for event in trace.of(Broadcast):
            wrong = event.linear or _one_learns(event.left, event.right)
            if wrong and crossed(event.left, event.right):
                text = "the {what} of {one} and {other} is broadcast: the loss compares all pairs"
                text = text if event.operation == "difference" else text.replace("compares", "sums over")
                words = {"what": event.operation, "one": shown(event.left), "other": shown(event.right)}
                cause = models_behind(trace, event.left, event.right, event=event)
                alike = [(each.left, each.right) for each in trace.of(Broadcast) if each.site == event.site]
                yield self.finding(
                    event.site,
                    message(text, **words),
                    help=_help(event.left),
                    cause=cause,
                    edits=[] if event.by_method else _edits(event.site, alike),
                )

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Whether the loss, or the operation, was computed of tensors that match."""
        return bool(at(trace, finding.site, LossCalled) or counted(trace, finding.site, claims.SHAPES_AGREE))

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """The shapes."""
        pairs = [(loss, loss.input, loss.target) for loss in at(trace, finding.site, LossCalled)]
        pairs += [(event, event.left, event.right) for event in at(trace, finding.site, Broadcast)]  # type: ignore[misc]
        wrong = [pair for pair in pairs if crossed(*pair[1:])]
        for event, left, right in wrong[:1] or pairs[:1]:
            often, match = (len(wrong), "") if wrong else (len(pairs), ", which match,")
            yield fact(
                f"{shown(left)} and {shown(right)}{match} were compared {count(often, 'time')}", often, "times", event
            )
        agree = counted(trace, finding.site, claims.SHAPES_AGREE)
        if agree and not pairs:
            yield fact(
                f"{count(agree, 'operation')} on tensors with the same number of dimensions", agree, "operations"
            )


def _one_learns(left: TensorFact, right: TensorFact) -> bool:
    """Whether one of them comes from a model, or can be trained, and the other is what it is compared with."""
    return (left.graph is True or bool(left.forwards)) != (right.graph is True or bool(right.graph_forwards))


def _edits(site: Site, pairs: list[tuple[TensorFact, TensorFact]]) -> list[Wrap]:
    """The column as a row, where it is the same one of the two whenever they meet at this place."""
    columns = {0 if column_and_row(*pair) else 1 for pair in pairs}
    return [Wrap(site, "{}.squeeze(1)", columns.pop())] if len(columns) == 1 and all(crossed(*e) for e in pairs) else []


def _help(first: TensorFact) -> str:
    column = first.shape is not None and len(first.shape) > 1
    return f"give both the same shape: apply `.squeeze(1)` to the {'first' if column else 'second'} one"
