"""TDR106: gradients are accumulated over several micro-batches, and the loss is not divided by their number."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.edits import Divide, Figure
from torch_doctor.rule import Evidence, Finding, Fix, Level, Rule, Step
from torch_doctor.trace import Backward, BranchKind, Clipped, Escaped, GaveUp, LossBuilt, LossCalled
from torch_doctor_rules.judging.cadence import Cadence, may_divide
from torch_doctor_rules.judging.evidence import at, count, fact
from torch_doctor_rules.judging.sites import first_per_site
from torch_doctor_rules.judging.subjects import ACCUMULATION
from torch_doctor_rules.judging.wording import message, owner

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Trace
    from torch_doctor_rules.judging.cadence import Window


class AccumulationNotScaled(Rule):
    """Gradients are accumulated over K micro-batches, but the mean loss of each is not divided by K.

    ## Why is this bad?
    `backward()` adds to the existing gradients. After K micro-batches of mean losses, their sum is K times the
    gradient of the large batch that they replace. Every step is K times too long, as if the learning rate were K times
    higher, and limits for clipping and weight decay no longer have their usual meaning.

    ## Example
    ```python
    loader = DataLoader(TensorDataset(torch.randn(64, 4), torch.randn(64, 1)), batch_size=8, shuffle=True)

    for i, (x, y) in enumerate(loader):
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        if (i + 1) % 4 == 0:
            optimizer.step()
            optimizer.zero_grad()
    ```

    ## Use instead
    ```diff
     for i, (x, y) in enumerate(loader):
    -    loss = nn.functional.mse_loss(model(x), y)
    +    loss = nn.functional.mse_loss(model(x), y) / 4
         loss.backward()
    ```

    ## Fix safety
    Steps become K times shorter, but the learning rate may have been tuned for the long ones.

    ## How the probe confirms it
    Several backward passes of this line precede one step, each of a mean loss that nothing in its graph divides. A
    loss that is divided refutes the finding.

    ## When it is not reported
    - The loss is divided or weighted in any way, summed, or computed by hand.
    - The gradients are changed before the step.
    - A framework divides the loss itself.

    A criterion that an unknown caller passes in is assumed to return a mean, unless the script creates one that does
    not.

    ## References
    - https://docs.pytorch.org/docs/stable/notes/amp_examples.html#gradient-accumulation
    - https://docs.pytorch.org/docs/stable/generated/torch.Tensor.backward.html
    """

    code = "TDR106"
    name = "accumulation-not-scaled"
    level = Level.WARNING
    witness = "SP"
    step_of = frozenset({"TDR128"})
    voided_by = frozenset({"inside"})
    subject = ACCUMULATION
    fix = Fix.UNSAFE
    fix_changes = frozenset({Figure.LOSS, Figure.GRADIENTS, Figure.UPDATES})

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Every line that adds up the gradients of mean losses."""
        windows = (window for window in trace.view(Cadence).windows() if _of_means(trace, window))
        yield from first_per_site(self._report(window, _edits(trace, window)) for window in windows)

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Whether windows of this line were seen, or each of its passes was applied alone."""
        passes = at(trace, finding.site, Backward)
        known = "no step applied the gradients of several of these backward passes" if passes else False
        return True if passes and all(event.divided for event in passes) else known

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """How many micro-batches one step applies, and whether their losses were divided."""
        passes = at(trace, finding.site, Backward)
        windows = (window.length for window in trace.view(Cadence).windows() if window.backward in passes)
        if (longest := max(windows, default=0)) > 1:
            batches = count(longest, "micro-batch", "micro-batches")
            yield fact(f"one step applies the sum of {batches}", longest, "passes")
        if passes:
            divided = sum(bool(event.divided) for event in passes)
            of = f"{divided} of {count(len(passes), 'loss', 'losses')}"
            yield fact(f"{of} are divided or weighted before `backward()`", divided, "losses", passes[0])

    def _report(self, window: Window, edits: list[Divide]) -> Finding:
        loss = owner(window.backward.name, "backward", "the loss")
        optimizer = owner(window.step.name, "step", "the optimizer")
        text = "`{loss}` is not divided by the number of micro-batches: `{optimizer}` applies a sum, not a mean"
        return self.finding(
            window.backward.site,
            message(text, loss=loss, optimizer=optimizer),
            help="divide the loss by the number of micro-batches per step",
            trail=(
                Step(window.backward.site, "every micro-batch adds its gradients here"),
                Step(window.step.site, "one step applies the sum of several micro-batches"),
            ),
            edits=edits,
        )


def _edits(trace: Trace, window: Window) -> list[Divide]:
    """The loss divided by the number of passes of which the last one steps, where one test counts them."""
    branches = [trace.branches[branch] for branch, _ in window.step.guards - window.backward.guards]
    sites = {each.site for each in branches if each.kind is BranchKind.PERIODIC}
    of_library = window.backward.through != "backward"
    return [Divide(window.backward.site, sites.pop())] if len(sites) == 1 and not of_library else []


def _of_means(trace: Trace, window: Window) -> bool:
    """Return whether the window adds up mean losses that nothing divides, before or after `backward()`.

    Code that divides only if there are several micro-batches (`if steps > 1:`) divides whenever it is needed.
    """
    backward = window.backward
    plain = backward.whole and (backward.as_is or not may_divide(trace, backward))
    if not plain or any(event.divided is not False for event in trace.of(Backward) if event.site == backward.site):
        return False
    forwards = backward.loss.graph_forwards or backward.forwards
    itself = [event for event in trace.of(LossCalled) if event.site == backward.loss.operation_at]
    losses = itself or [  # the model may have returned it
        event
        for event in trace.of(LossCalled)
        if event.index < backward.index
        and event.output.graph_forwards & forwards
        and trace.same_iteration(event, backward)
        and trace.together(event, backward)
    ]
    covered = forwards if itself else frozenset[int]().union(*(event.output.graph_forwards for event in losses))
    means = bool(losses) and all(_is_mean(trace, event) for event in losses)
    return means and forwards <= covered and not _changed(trace, window)


def _is_mean(trace: Trace, loss: LossCalled) -> bool:
    """Return whether a loss is a mean, or is passed in by an unknown caller and the script creates no other ones."""
    presumed = loss.handed_in and not loss.reduction
    return loss.reduction == "mean" or (presumed and all(event.reduction == "mean" for event in trace.of(LossBuilt)))


def _changed(trace: Trace, window: Window) -> bool:
    """Whether the gradients may be normalised between the backward pass and the step."""
    return any(
        isinstance(event, GaveUp)
        or (isinstance(event, Escaped) and (event.optimizers or event.modules or event.forwards))
        or (isinstance(event, Clipped) and event.manual)
        for event in trace.between(window.backward, window.step, Clipped, Escaped, GaveUp)
        if trace.together(event, window.step)
    )
