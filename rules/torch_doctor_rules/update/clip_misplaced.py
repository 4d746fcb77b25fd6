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
    Clipping changes the gradients that exist when it is called. Before `backward()` there are none, and after `step()`
    they have already been applied. The update is not clipped, and the exploding gradients that clipping should prevent
    come back. If gradients are clipped after every micro-batch, the accumulated sum is scaled down again and again,
    and late micro-batches weigh more.

    A loop that clips one parameter at a time limits the norm of each. Large gradients are scaled down and small ones are
    not, so the update points in another direction. This is reported as advice.

    ## Example
    ```python
    for x, y in loader:
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    ```

    ## Use instead
    ```diff
         loss.backward()
    +    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
         optimizer.step()
    -    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    ```

    ## How the probe confirms it
    When the call runs, there is no backward pass between the last step and the call, or another backward pass follows
    before the next step. Calls that all come between a backward pass and its step refute the finding.

    ## When it is not reported
    - The call only computes the norm (`max_norm=float("inf")`).
    - It clips other parameters than those of the backward pass and the step.
    - It clips between two different backward passes.
    - A backward pass or a step happens in unresolved code.
    - An optimizer clips one parameter at a time in its own `step()`.

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
        misplaced = (self._report(found) for found in trace.view(Clipping).misplaced())
        yield from first_per_site((*misplaced, *map(self._advise, trace.view(Clipping).one_by_one())))

    def speaks_alone(self, trace: Trace, finding: Finding) -> bool:  # noqa: ARG002 - as all rules
        """Whether it is about the place: only the source shows that the parameter is one of several."""
        return finding.level is not Level.ADVICE

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Whether each of these calls came between a backward pass and its step."""
        clips = at(trace, finding.site, Clipped)
        if finding.level is Level.ADVICE:
            return bool(clips)
        placed = list(map(trace.view(Clipping).in_place, clips))
        return bool(clips) if all(placed) else "one of these calls had no backward pass before it, or no step after it"

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """How many of these calls came between a backward pass and its step."""
        clips = at(trace, finding.site, Clipped)
        if finding.level is Level.ADVICE:
            alone = sum(clip.alone for clip in clips)
            yield fact(f"{alone} of {count(len(clips), 'call')} got one parameter tensor", alone, "calls", *clips[:1])
            return
        placed = sum(map(trace.view(Clipping).in_place, clips))
        if clips:
            calls = count(len(clips), "call")
            yield fact(f"{placed} of {calls} come between a backward pass and its step", placed, "calls", clips[0])

    def _advise(self, clip: Clipped) -> Finding:
        return self.finding(
            clip.site,
            "each parameter is clipped by its own norm: the direction of the update changes",
            help="clip the norm of all parameters at once, after the loop over them",
            level=Level.ADVICE,
        )

    def _report(self, found: Misplaced) -> Finding:
        clip, how, backward, step = found
        optimizer = owner(step.name, "step", "the optimizer")
        text = {
            BEFORE: "gradients are clipped before `{loss}.backward()` computes them: the update is not clipped",
            AFTER: "gradients are clipped after `{optimizer}.step()` has applied them: the update is not clipped",
        }.get(how, "gradients are clipped per micro-batch, not per step of `{optimizer}`: late ones weigh more")
        names = {
            name: value
            for name, value in (("loss", owner(backward.name, "backward", "the loss")), ("optimizer", optimizer))
            if "{" + name + "}" in text
        }
        return self.finding(
            clip.site,
            message(text, **names),
            edits=_edits(found),
            help=sentence("clip after the backward pass, right before `{name}.step()`", name=optimizer),
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
