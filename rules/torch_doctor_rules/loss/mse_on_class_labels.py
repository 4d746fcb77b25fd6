"""TDR206: a regression loss compares class scores with class indices."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.rule import Evidence, Finding, Level, Rule
from torch_doctor.trace import Kind, LossCalled, Trace, claims
from torch_doctor_rules.judging.causes import one_loss
from torch_doctor_rules.judging.evidence import at, fact, number
from torch_doctor_rules.judging.loss_inputs import DISTANCES, are_integers
from torch_doctor_rules.judging.loss_shapes import ANY, classes, rank, shown
from torch_doctor_rules.judging.sites import first_per_site
from torch_doctor_rules.judging.subjects import DIFFERENCES
from torch_doctor_rules.judging.wording import message

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import TensorFact


MEASURED = (claims.LARGEST_WHOLE_TARGET, claims.TARGETS_NO_LABELS)


class MseOnClassLabels(Rule):
    """A regression loss compares class scores with the index of the correct class.

    ## Why is this bad?
    A class index is a name, not a quantity: class 9 is not nine times class 1. The error between `C` scores and one
    index either raises, or broadcasts the index over all scores. Then every score is pulled to the same value, and none
    of them separates the classes.

    ## Example
    ```python
    loader = DataLoader(TensorDataset(torch.randn(64, 4), torch.randint(0, 3, (64,))), batch_size=16, shuffle=True)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
    criterion = nn.MSELoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    for epoch in range(2):
        for x, y in loader:
            optimizer.zero_grad()
            criterion(model(x), y.float().unsqueeze(1)).backward()
            optimizer.step()
    ```

    ## Use instead
    ```diff
     model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
    -criterion = nn.MSELoss()
    +criterion = nn.CrossEntropyLoss()
     optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    ...
             optimizer.zero_grad()
    -        criterion(model(x), y.float().unsqueeze(1)).backward()
    +        criterion(model(x), y).backward()
             optimizer.step()
    ```

    ## How the probe confirms it
    It checks the shapes at the loss call, and that the targets are whole numbers that are valid class indices for the
    scores.

    ## When it is not reported
    - For one-hot targets (the Brier score).
    - For a model with a single output, whose target is a quantity.
    - If the number of scores or the labels are unknown.

    If several calls use the same loss and model, only the first one in a file is reported.

    ## References
    - https://docs.pytorch.org/docs/stable/generated/torch.nn.MSELoss.html
    - https://docs.pytorch.org/docs/stable/generated/torch.nn.CrossEntropyLoss.html
    """

    code = "TDR206"
    name = "mse-on-class-labels"
    level = Level.ERROR
    witness = "SP"
    voided_by = frozenset({"shapes", "inside"})
    subject = DIFFERENCES

    def check(self, trace: Trace) -> Iterator[Finding]:
        """The first call at each place of a distance between scores and labels."""
        wrong = (loss for loss in trace.of(LossCalled) if loss.loss in DISTANCES and _pair(trace, loss) is not None)
        for loss in first_per_site(wrong):
            scores, _ = _pair(trace, loss) or (loss.input, loss.target)
            text = "`{loss}` compares {count} class scores with a class index as if it were a quantity"
            yield self.finding(
                loss.site,
                message(text, loss=loss.name, count=str(classes(scores))),
                help="use `CrossEntropyLoss` with the logits and the class indices, or one-hot encode the labels",
                cause=one_loss(trace, loss),
            )

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Whether the loss was computed of something else, as far as the run looked."""
        losses = at(trace, finding.site, LossCalled)
        return bool(losses) and not all(_unmeasured(trace, loss) for loss in losses)

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """The shapes, and the largest label."""
        losses = at(trace, finding.site, LossCalled)
        wrong = [loss for loss in losses if _pair(trace, loss) is not None]
        for loss in (wrong or losses)[:1]:
            text = f"the input {shown(loss.input)} is compared with a {loss.target.dtype} target {shown(loss.target)}"
            yield fact(f"{text} in {len(wrong)} of {len(losses)} loss calls", len(wrong), "losses", loss)
            largest = number(trace, claims.LARGEST_WHOLE_TARGET, loss)
            if largest is not None:
                yield fact(f"the targets are whole numbers up to {largest:.0f}", largest, "", loss)


def _pair(trace: Trace, loss: LossCalled) -> tuple[TensorFact, TensorFact] | None:
    """The scores and the labels, in whatever order they are given."""
    for scores, labels in ((loss.input, loss.target), (loss.target, loss.input)):
        if _scores(scores) and _shape_of_labels(labels) and _are_labels(trace, loss, labels, classes(scores) or 0):
            return scores, labels
    return None


def _scores(fact: TensorFact) -> bool:
    """Whether these are several columns of what a model gave."""
    several = (classes(fact) or 0) > 1 and rank(fact) in (None, 2)
    return several and (fact.graph is True or bool(fact.forwards)) and fact.kind is not Kind.LABELS


def _shape_of_labels(fact: TensorFact) -> bool:
    """Whether there is one number for each row."""
    shape = fact.shape
    return shape is not None and ANY not in shape and (len(shape) == 1 or (len(shape) == 2 and shape[1] == 1))  # noqa: PLR2004 - a column has two


def _unmeasured(trace: Trace, loss: LossCalled) -> bool:
    """Whether a run ended before it looked at what might be labels."""
    pairs = ((loss.input, loss.target), (loss.target, loss.input))
    might = any(_scores(scores) and _shape_of_labels(labels) for scores, labels in pairs)
    return might and all(number(trace, claim, loss) is None for claim in MEASURED)


def _are_labels(trace: Trace, loss: LossCalled, labels: TensorFact, count: int) -> bool:
    """Whether they are numbers of classes: by where they came from, or, in a run, by their values."""
    if labels.forwards or labels.graph:
        return False
    if trace.run is None:
        return labels.kind is Kind.LABELS
    largest = number(trace, claims.LARGEST_WHOLE_TARGET, loss) if trace.run.voids("values") is None else None
    return are_integers(labels) or (largest is not None and 1 <= largest < count)
