"""TDR213: a softmax over a single output is always 1."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.rule import Evidence, Finding, Level, Rule, Step
from torch_doctor.trace import Forward, LossCalled, Normalised, Trace, WeightsSummed
from torch_doctor_rules.judging.causes import one_loss
from torch_doctor_rules.judging.evidence import at, fact
from torch_doctor_rules.judging.loss_inputs import one_class
from torch_doctor_rules.judging.loss_shapes import classes, shown
from torch_doctor_rules.judging.sites import first_per_site
from torch_doctor_rules.judging.wording import message

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Site

HELP = "give the model one output per class, or use `BCEWithLogitsLoss` (and sigmoid) for a single output"


WEIGHTS = "softmax over a dimension of size 1: each weight is always 1, and its gradient is 0"


class SoftmaxOverOneOutput(Rule):
    """Cross-entropy or softmax is applied to a single output, which makes it constant.

    ## Why is this bad?
    Softmax distributes 1 among the classes. With a single class the result is 1 whatever the logit is, the
    cross-entropy is exactly 0, and so is every gradient. The loss looks perfect from the first step on, and nothing is
    learned. Attention weights over a single position are always 1, too: the model cannot choose, and the layers that
    compute the scores are never trained.

    ## Example
    ```python
    loader = DataLoader(TensorDataset(torch.randn(64, 4), torch.zeros(64).long()), batch_size=16)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    for epoch in range(2):
        for x, y in loader:
            optimizer.zero_grad()
            criterion(model(x), y).backward()
            optimizer.step()
    ```

    ## Use instead
    ```diff
    -loader = DataLoader(TensorDataset(torch.randn(64, 4), torch.zeros(64).long()), batch_size=16)
    +loader = DataLoader(TensorDataset(torch.randn(64, 4), torch.zeros(64)), batch_size=16)
     model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    -criterion = nn.CrossEntropyLoss()
    +criterion = nn.BCEWithLogitsLoss()
     optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    ...
             optimizer.zero_grad()
    -        criterion(model(x), y).backward()
    +        criterion(model(x).squeeze(1), y).backward()
             optimizer.step()
    ```

    ## How the probe confirms it
    The class dimension of the input of the loss or softmax has size 1.

    ## When it is not reported
    - The number of classes is a setting that the source does not determine.
    - A setting decides whether the scores reach the loss.
    - The softmax is over another dimension. Attention scores, for example, can have one column and are normalized over
      the steps.
    - The scores are concatenated to several columns first.
    - The softmax is inside a model or its methods, where the size decides whether there is one head, expert or step. It
      is reported if the script has reduced the positions to one (a mean with `keepdim=True`, the last state of a
      recurrent layer), or if the weights are summed over another dimension than the normalized one.
    - A setting decides how many positions are left: the number of layers or directions, the size of a pooling, the
      length of a slice.

    If several calls use the same loss and model, only the first one in a file is reported.

    ## References
    - https://docs.pytorch.org/docs/stable/generated/torch.nn.CrossEntropyLoss.html
    - https://docs.pytorch.org/docs/stable/generated/torch.nn.Softmax.html
    - https://docs.pytorch.org/docs/stable/generated/torch.nn.BCEWithLogitsLoss.html
    """

    code = "TDR213"
    name = "softmax-over-one-output"
    level = Level.ERROR
    witness = "SP"
    voided_by = frozenset({"inside"})

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Every loss over one class, and every softmax over one number that reaches no loss."""
        yield from first_per_site(self._found(trace))

    def _found(self, trace: Trace) -> Iterator[Finding]:
        several = {each.site for each in trace.of(Normalised) if each.size != 1}  # attention, to one step and to more
        constant = {each.site: each for each in trace.of(Normalised) if each.size == 1 and each.site not in several}
        reported = set()
        for loss in trace.of(LossCalled):
            made = constant.get(loss.input.operation_at) if loss.input.operation_at is not None else None
            if one_class(loss) and _always(trace, loss):
                reported.add(loss.input.operation_at)
                text = "`{loss}` gets a single class: the loss and its gradients are always 0"
                yield self.finding(loss.site, message(text, loss=loss.name), help=HELP, cause=one_loss(trace, loss))
            elif made is not None:
                reported.add(made.site)
                text = "`{loss}` gets a softmax over one output: it is always 1, and its gradient is 0"
                trail = (Step(made.site, f"softmax over a dimension of size 1 of {shown(made.input)} here"),)
                yield self.finding(
                    loss.site, message(text, loss=loss.name), help=_help(made), trail=trail, cause=one_loss(trace, loss)
                )
        pointless = _pointless(trace)
        answers = {forward.output.operation_at for forward in trace.of(Forward)}
        for event in constant.values():
            asked = event.site in answers or (event.input.forwards and not event.in_model)
            if event.site not in reported and asked:
                text = "softmax over a single output: it is always 1, and its gradient is 0"
                yield self.finding(event.site, text, help=_help(event))
            elif event.site not in reported and (event.site in pointless or (trace.observed and event.in_model)):
                yield self.finding(event.site, WEIGHTS, help=_help_in_model(trace, event))

    def speaks_alone(self, trace: Trace, finding: Finding) -> bool:  # noqa: ARG002 - as all rules
        """Whether it is no softmax within a model: a run does not show whether there are always so many steps or experts."""
        return finding.message != WEIGHTS

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Whether the loss, or the softmax, was computed of more."""
        return bool(at(trace, finding.site, LossCalled) or at(trace, finding.site, Normalised))

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """What they were given."""
        for loss in at(trace, finding.site, LossCalled)[:1]:
            yield fact(f"the loss gets {shown(loss.input)}", classes(loss.input), "classes", loss)
        for event in at(trace, finding.site, Normalised)[:1]:
            yield fact(
                f"softmax over a dimension of size {event.size} of {shown(event.input)}", event.size, "elements", event
            )


def _help(softmax: Normalised) -> str:
    """What to do about a softmax over one number."""
    shape = softmax.input.shape
    if softmax.dim_given is False and shape and shape[-1] != 1:
        return "pass the dimension of the classes, `dim=-1` for the last one: here torch picks another one"
    return HELP


def _pointless(trace: Trace) -> set[Site]:
    """Softmaxes within models over one element that had more, or whose weights are summed over another dimension."""
    found = {event.site for event in trace.of(Normalised) if event.collapsed}
    right = {event.site for event in trace.of(WeightsSummed) if event.along == event.summed or not event.summed}
    return found | {event.site for event in trace.of(WeightsSummed) if event.weights != 1} - right


def _help_in_model(trace: Trace, softmax: Normalised) -> str:
    """What to do about weights that are normalized over one element."""
    for event in trace.of(WeightsSummed):
        if event.site == softmax.site and event.along != event.summed and event.weights != 1:
            summed = event.summed + event.dims if event.dims and event.from_start else event.summed
            return f"normalize over the dimension that the weights are summed over: `dim={summed}`"
    return "keep the positions that the weights choose among, instead of reducing them to one"


def _always(trace: Trace, loss: LossCalled) -> bool:
    """Whether the scores surely reach the loss, whatever the settings are; a run has seen that they do."""
    forwards = loss.input.forwards
    return trace.observed or not forwards or any(trace.implies(forward, loss) for forward in trace.at(*forwards))
