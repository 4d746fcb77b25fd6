"""TDR402: a model is evaluated with autograd enabled."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.edits import Figure
from torch_doctor.rule import Evidence, Finding, Fix, Level, Rule, Step
from torch_doctor.trace import Forward, GradModeEntered, GradModeExited, LoopKind, Source, Trace
from torch_doctor_rules.judging.causes import place
from torch_doctor_rules.judging.evaluation_edits import without_gradients
from torch_doctor_rules.judging.evidence import fact, number, size
from torch_doctor_rules.judging.forward_evidence import batches
from torch_doctor_rules.judging.forward_places import batch_of
from torch_doctor_rules.judging.modes import Modes
from torch_doctor_rules.judging.passes import Passes
from torch_doctor_rules.judging.precedence import CONTEXTS, uncalled
from torch_doctor_rules.judging.scores import is_scored
from torch_doctor_rules.judging.wording import message

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


class MissingNoGrad(Rule):
    """Validation or inference builds autograd graphs that are never used.

    ## Why is this bad?
    Outside of `no_grad`, every forward pass stores its activations for a `backward()` that never runs. Evaluation needs
    several times the memory and is slower, and a stored result keeps its graph alive. The numbers are correct.

    ## Example
    ```python
    for x, y in DataLoader(train_set, batch_size=16, shuffle=True):
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()

    model.eval()
    for x, y in DataLoader(test_set, batch_size=16):
        print(nn.functional.mse_loss(model(x), y).item())
    ```

    ## Use instead
    ```diff
     model.eval()
    -for x, y in DataLoader(test_set, batch_size=16):
    -    print(nn.functional.mse_loss(model(x), y).item())
    +with torch.no_grad():
    +    for x, y in DataLoader(test_set, batch_size=16):
    +        print(nn.functional.mse_loss(model(x), y).item())
    ```

    ## Fix safety
    The fix is unsafe. It adds `@torch.no_grad()` to a function that only evaluates, and puts any other pass under `with
    torch.no_grad():`. The results then have no graph. Code outside of the project that needs gradients of the results
    breaks.

    ## How the probe confirms it
    The output for a batch that no `backward()` follows has a graph. If it has none, because of `no_grad`, the finding
    is refuted.

    ## When it is not reported
    - A caller, decorator or context has disabled gradients.
    - The inputs require gradients.
    - Autograd is enabled before the pass and disabled after it.
    - The result is used in a training loss (teachers), or discarded.
    - The model is frozen.
    - The input is random, unless the model is in evaluation mode and samples between the training epochs.
    - For a single forward pass over random numbers, or over one batch that is not scored, between two updates or epochs
      (samples to look at), unless TDR402 is selected: its graph is no larger than that of an update. It is advice then.
    - For smoke tests, for a script that calls the model once to show the result and computes no score, and in tests.

    Consecutive passes of one model in one block, without training in between, are reported once.

    ## References
    - https://docs.pytorch.org/docs/stable/generated/torch.no_grad.html
    - https://docs.pytorch.org/docs/stable/notes/autograd.html#locally-disabling-gradient-computation
    """

    code = "TDR402"
    name = "missing-no-grad"
    level = Level.WARNING
    witness = "SP"
    shown_by = "forward pass here that only evaluates"
    fix = Fix.UNSAFE
    fix_changes = frozenset[Figure]()
    explained_by = frozenset(("TDR105", "TDR113", "TDR115"))  # what was to go backward looks like an evaluation

    def check(self, trace: Trace) -> Iterator[Finding]:
        """The first forward of every evaluation pass that surely records a graph."""
        passes = trace.view(Passes)
        modes = Modes(passes)
        wrong = [
            forward
            for forward in passes.evaluations(samples=True)
            if forward.grad is True
            and forward.trainable is not False
            and not forward.may_be_frozen
            and forward.inputs.leaf is not True
            and not _switched_on(trace, forward)
            and forward.used
            and self._is_pass(forward, passes, modes)
        ]
        for forward in passes.first_of_each(wrong):
            if not any(uncalled(trace, context, between=(None, forward)) for context in CONTEXTS):
                trail = [Step(step.site, "the model is trained here") for step in passes.training_of(forward)[:1]]
                trail.append(Step(forward.site, "no `backward()` follows this forward pass, but it records a graph"))
                yield self.finding(
                    forward.site,
                    message(
                        "`{name}` is evaluated with autograd enabled: memory is wasted on graphs that are never used",
                        name=forward.name,
                    ),
                    help="run the evaluation under `torch.no_grad()`",
                    trail=trail,
                    cause=place(passes.first_of_block(forward, wrong).site),
                    edits=without_gradients(passes, forward),
                    level=Level.ADVICE if _is_one_sample(trace, forward, passes) else None,
                )

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Whether the forward evaluated, and recorded nothing."""
        evaluating = trace.view(Passes).evaluating_at(finding.site)
        wrong = any(event.output.graph is not False for event in evaluating)
        return "it records a graph, which may be needed" if wrong else bool(evaluating)

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """How many batches recorded a graph, and what one of them takes."""
        forwards = trace.view(Passes).evaluating_at(finding.site)
        yield from batches(forwards, "record a graph", lambda event: event.output.graph)
        yield from _saved(trace, forwards)

    def _is_pass(self, forward: Forward, passes: Passes, modes: Modes) -> bool:
        """Whether batches are evaluated in a loop, or a whole split in evaluation mode during or after training."""
        if forward.inputs.source is Source.LOADER:
            return batch_of(forward) is not None
        mode = modes.last(forward)
        if mode is None or mode.training is not False:
            return False
        if any(passes.trace.common_loop(step, forward) for step in passes.training_of(forward)[:1]):
            return True  # with each batch, or between the epochs
        if forward.inputs.source is Source.NOISE:
            return False
        in_loop = any(scope.loop_kind is not LoopKind.COUNTED for scope in forward.scope.iterations())
        return in_loop or (passes.comes_after_training(forward) and is_scored(passes.trace, forward))


def _is_one_sample(trace: Trace, forward: Forward, passes: Passes) -> bool:
    """Whether it is one forward pass between updates, to look at: its graph is no larger than that of an update."""
    trained = passes.training_of(forward)[:1]
    around = trace.common_loop(trained[0], forward) if trained else None
    shown = (Source.NOISE,) if is_scored(trace, forward) else (Source.NOISE, Source.LOADER)
    return forward.inputs.source in shown and around is not None and forward.scope.iterations()[-1] is around


def _switched_on(trace: Trace, forward: Forward) -> bool:
    """Whether autograd is switched on before the pass and off after it: what adapts a model to be scored needs it."""
    switches: list[GradModeEntered | GradModeExited] = [*trace.of(GradModeEntered), *trace.of(GradModeExited)]
    switches = [each for each in switches if trace.together(each, forward)]
    before = [each for each in switches if each.index < forward.index]
    last = max(before, key=lambda each: each.index, default=None)
    return (
        isinstance(last, GradModeEntered)
        and last.enabled is True
        and any(each.index > forward.index and each.scope is last.scope and not each.enabled for each in switches)
    )


def _saved(trace: Trace, forwards: Sequence[Forward]) -> Iterator[Evidence]:
    """What one of the forwards keeps for a backward pass."""
    weight = number(trace, "saved bytes", *forwards)
    if weight:
        yield fact(f"each stores {size(weight)} for a backward pass that never runs", weight, "bytes", forwards[0])
