"""TDR213: a softmax over one number is always 1."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.rule import Evidence, Finding, Level, Rule, Step
from torch_doctor.trace import Forward, LossCalled, Normalised, Trace
from torch_doctor_rules.judging.causes import one_loss
from torch_doctor_rules.judging.evidence import at, fact
from torch_doctor_rules.judging.loss_inputs import one_class
from torch_doctor_rules.judging.loss_shapes import classes, shown
from torch_doctor_rules.judging.sites import first_per_site
from torch_doctor_rules.judging.wording import message

if TYPE_CHECKING:
    from collections.abc import Iterator

HELP = "give the model one output per class, or use `BCEWithLogitsLoss` and a sigmoid for a single output"


class SoftmaxOverOneOutput(Rule):
    """Cross-entropy or a softmax is applied to a single output, which makes it constant.

    ## Why is this bad?
    A softmax shares 1 among the classes. With one class its result is 1 whatever the score, the cross-entropy is
    exactly 0, and so is every gradient: the loss looks perfect from the first step on and nothing is learned.

    ## Example
    ```python
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
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
    ```python
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    loader = DataLoader(TensorDataset(torch.randn(64, 4), torch.zeros(64)), batch_size=16)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    criterion = nn.BCEWithLogitsLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    for epoch in range(2):
        for x, y in loader:
            optimizer.zero_grad()
            criterion(model(x).squeeze(1), y).backward()
            optimizer.step()
    ```

    ## How the probe confirms it
    The shape of what the loss, or the softmax, is given: its class dimension has size 1.

    ## When it is not reported
    When the number of classes is a setting that the source does not decide, when a setting decides whether the scores
    reach the loss, when the softmax goes over another dimension (the scores of an attention have one column, and it goes
    over the steps), when the scores are put together to more columns before, and within a model and its methods, where one
    head, one expert or one step may be a matter of size. The first call of one loss for one model stands for the others in
    its file.

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
                text = "`{loss}` compares one class only: the loss is always 0, and so are its gradients"
                yield self.finding(loss.site, message(text, loss=loss.name), help=HELP, cause=one_loss(trace, loss))
            elif made is not None:
                reported.add(made.site)
                text = "`{loss}` gets a softmax over one output: it is always 1, and its gradient 0"
                trail = (Step(made.site, f"the softmax goes over one number of {shown(made.input)} here"),)
                yield self.finding(
                    loss.site, message(text, loss=loss.name), help=_help(made), trail=trail, cause=one_loss(trace, loss)
                )
        answers = {forward.output.operation_at for forward in trace.of(Forward)}
        for event in constant.values():
            asked = event.site in answers or (event.input.forwards and not event.in_model)
            if event.site not in reported and asked:
                text = "the softmax goes over one output: it is always 1, and its gradient 0"
                yield self.finding(event.site, text, help=_help(event))

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Whether the loss, or the softmax, was computed of more."""
        return bool(at(trace, finding.site, LossCalled) or at(trace, finding.site, Normalised))

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """What they were given."""
        for loss in at(trace, finding.site, LossCalled)[:1]:
            yield fact(f"the loss is given {shown(loss.input)}", classes(loss.input), "classes", loss)
        for event in at(trace, finding.site, Normalised)[:1]:
            yield fact(f"the softmax goes over {event.size} of {shown(event.input)}", event.size, "numbers", event)


def _help(softmax: Normalised) -> str:
    """What to do about a softmax over one number."""
    shape = softmax.input.shape
    if softmax.dim_given is False and shape and shape[-1] != 1:
        return "name the dimension that holds the classes: `dim=-1` for the last; here torch chooses another"
    return HELP


def _always(trace: Trace, loss: LossCalled) -> bool:
    """Whether the scores surely reach the loss, whatever the settings are; a run has seen that they do."""
    forwards = loss.input.forwards
    return trace.observed or not forwards or any(trace.implies(forward, loss) for forward in trace.at(*forwards))
