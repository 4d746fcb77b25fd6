"""TDR108: gradients are clipped where it does not help."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.edits import Figure, Move, Scale
from torch_doctor.rule import Evidence, Finding, Fix, Level, Rule, Step
from torch_doctor.trace import Clipped
from torch_doctor_rules.judging.clipping import AFTER, BEFORE, Clipping
from torch_doctor_rules.judging.evidence import at, count, fact
from torch_doctor_rules.judging.sites import first_per_site
from torch_doctor_rules.judging.wording import message, owner, sentence

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.edits import Edit
    from torch_doctor.trace import Trace
    from torch_doctor_rules.judging.clipping import Misplaced


class ClipMisplaced(Rule):
    """Gradients are clipped before `backward()`, after `step()`, or for every micro-batch of an accumulation.

    ## Why is this bad?
    Clipping changes the gradients that are there when it is called. Before `backward()` there are none, after `step()`
    they have been applied already: the update goes on unclipped, and the exploding gradients that clipping was to stop
    are back. Clipped after every micro-batch, the sum so far shrinks again and again, and late micro-batches weigh more.

    ## Example
    ```python
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    loader = DataLoader(TensorDataset(torch.randn(64, 4), torch.randn(64, 1)), batch_size=16, shuffle=True)
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    for x, y in loader:
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    ```

    ## Use instead
    ```python
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    loader = DataLoader(TensorDataset(torch.randn(64, 4), torch.randn(64, 1)), batch_size=16, shuffle=True)
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    for x, y in loader:
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    ```

    ## How the probe confirms it
    When the call runs, no backward pass lies between the last step and it, or another one comes before the next step.
    Calls that each come between a backward pass and its step refute it.

    ## When it is not reported
    For the norm alone (`max_norm=float("inf")`); for gradients of other parameters than those of the backward pass and
    of the step; for a clipping between two different backward passes; where a backward pass or a step is out of sight.

    ## References
    - https://docs.pytorch.org/docs/stable/generated/torch.nn.utils.clip_grad_norm_.html
    - https://docs.pytorch.org/docs/stable/notes/amp_examples.html#working-with-unscaled-gradients
    """

    code = "TDR108"
    name = "clip-misplaced"
    level = Level.ERROR
    witness = "SP"
    fix = Fix.UNSAFE
    fix_changes = frozenset({Figure.GRADIENTS, Figure.UPDATES})

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Every clipping that misses the gradients which are applied."""
        yield from first_per_site(self._report(found) for found in trace.view(Clipping).misplaced())

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Whether each of these calls came between a backward pass and its step."""
        clips = at(trace, finding.site, Clipped)
        placed = list(map(trace.view(Clipping).in_place, clips))
        return bool(clips) if all(placed) else "no step followed one of these calls, or no backward pass came before it"

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """How many of these calls came between a backward pass and its step."""
        clips = at(trace, finding.site, Clipped)
        placed = sum(map(trace.view(Clipping).in_place, clips))
        if clips:
            calls = count(len(clips), "call")
            yield fact(f"{placed} of {calls} come between a backward pass and its step", placed, "calls", clips[0])

    def _report(self, found: Misplaced) -> Finding:
        clip, how, backward, step = found
        optimizer = owner(step.name, "step", "the optimizer")
        text = {
            BEFORE: "gradients are clipped before `{loss}.backward()` fills them: the update is not clipped",
            AFTER: "gradients are clipped after `{optimizer}.step()` has applied them: the update is not clipped",
        }.get(how, "gradients are clipped for every micro-batch, and `{optimizer}` steps only once for several")
        names = {
            name: value
            for name, value in (("loss", owner(backward.name, "backward", "the loss")), ("optimizer", optimizer))
            if "{" + name + "}" in text
        }
        return self.finding(
            clip.site,
            message(text, **names),
            edits=_edits(found),
            help=sentence("clip after the backward pass, right before `{name}` steps", name=optimizer),
            trail=sorted(
                (
                    Step(backward.site, "the gradients are computed here"),
                    Step(step.site, "they are applied here"),
                    Step(clip.site, "they are clipped here"),
                ),
                key=lambda place: {backward.site: backward, step.site: step}.get(place.site, clip).index,
            ),
        )


def _edits(found: Misplaced) -> list[Edit]:
    """The call right before the step; of a scaler's step, they are to be unscaled before."""
    clip, how, _, step = found
    if not step.scaled:
        return [Move(clip.site, step.site, close=True)]
    return [Scale(step.site, "unscale_", step.site), Move(clip.site, step.site, close=True)] if how == AFTER else []
