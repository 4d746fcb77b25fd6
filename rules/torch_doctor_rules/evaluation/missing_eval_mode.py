"""TDR401: a model is evaluated in training mode."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.edits import Figure
from torch_doctor.rule import Evidence, Finding, Fix, Level, Rule, Step
from torch_doctor.trace import Backward, Escaped, Forward, ModeSet, ModuleBuilt
from torch_doctor_rules.judging.causes import place
from torch_doctor_rules.judging.evaluation_edits import in_evaluation_mode, left_alone
from torch_doctor_rules.judging.forward_evidence import answers
from torch_doctor_rules.judging.forward_places import batch_of
from torch_doctor_rules.judging.modes import Modes
from torch_doctor_rules.judging.passes import Passes
from torch_doctor_rules.judging.precedence import uncalled
from torch_doctor_rules.judging.scores import is_scored_once
from torch_doctor_rules.judging.wording import message

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Trace


_KNOWN = "`{name}` is evaluated in training mode: dropout and batch norm distort the result"
_SAME = "`{name}` is evaluated in the mode it trains in: dropout and batch norm distort the result"


class MissingEvalMode(Rule):
    """Validation or inference runs with dropout or batch norm in training mode.

    ## Why is this bad?
    In training mode, dropout discards activations, and batch norm normalizes with the statistics of the current batch
    and updates its running statistics with them. The score is noisy and too low and depends on the batch size, and
    evaluation data leaks into the model. A copy with averaged weights (`deepcopy`, `AveragedModel`) has a mode of its own:
    `eval()` of the model does not change it.

    ## Example
    ```python
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(0.5), nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in DataLoader(train_set, batch_size=16, shuffle=True):
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()

    with torch.no_grad():
        for x, y in DataLoader(test_set, batch_size=16):
            print(nn.functional.mse_loss(model(x), y).item())
    ```

    ## Use instead
    ```diff
    +model.eval()
     with torch.no_grad():
    ```

    ## Fix safety
    The fix is unsafe because it changes the scores. It calls `eval()` before the pass, and `train()` where training
    continues and nothing else calls it. If submodules have modes of their own, there is no fix.

    ## How the probe confirms it
    A pass whose batches are not followed by `backward()` is an evaluation. In it, dropout or batch norm is in training
    mode, and the same batch, evaluated twice on a copy of the model, gives two outputs. Their difference is the
    evidence.

    ## When it is not reported
    - The model has no batch norm or dropout (dropout with a rate of 0, also by default, does not count), or the mode
      decides how many outputs it returns.
    - It is unknown whether the model has any, unless generic training code puts the model into training mode itself,
      or a function trains and evaluates any model that it is given, and nothing sets a mode or may have done so. A
      function that names the class of its model, or looks into it (`modules()`, `apply`, `training`), is not judged so.
    - A function scores any model that it gets and is not called in the project. About half of such functions get a
      model that is already in evaluation mode.
    - `forward` skips, or may skip, these layers in this call (behind an argument such as `is_training=False`).
    - The mode is unknown.
    - Training mode is intended: Monte Carlo dropout (each input is passed several times), or recalibration of batch
      norm (the output is not used).
    - For smoke tests on random input, passes that may be followed by `backward()`, and tests.

    Consecutive passes of one model in one block, without training in between, are reported once.

    ## References
    - https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.eval
    - https://docs.pytorch.org/docs/stable/notes/autograd.html#evaluation-mode-nn-module-eval
    """

    code = "TDR401"
    name = "missing-eval-mode"
    level = Level.ERROR
    witness = "SP"
    shown_by = "forward pass here that only evaluates"
    fix = Fix.UNSAFE
    fix_changes = frozenset({Figure.OUTPUTS})
    explained_by = frozenset(("TDR105", "TDR113", "TDR115"))  # what was to go backward looks like an evaluation

    def check(self, trace: Trace) -> Iterator[Finding]:
        """The first forward of every evaluation pass that surely runs in training mode, and not on purpose."""
        passes = trace.view(Passes)
        modes = Modes(passes)
        wrong = [
            forward
            for forward in passes.evaluations()
            if not _may_come_to_train(trace)
            and (forward.sensitive is True or _is_meant_to_have_modes(modes, forward))
            and (forward.training is True or modes.is_never_set(forward))
            and forward.used
            and (batch_of(forward) is not None or (forward.grad is False and passes.comes_after_training(forward)))
            and not modes.in_training_step(forward)
            and not modes.is_drawn(forward)
            and not _trains_on_purpose(modes, forward)
            and not uncalled(trace, "eval", {forward.module}, passes.family, (None, forward))
        ]
        for forward in passes.first_of_each(wrong):
            trail = [Step(backward.site, "the model is trained here") for backward in passes.training_of(forward)[:1]]
            mode, own = modes.last(forward), modes.by_itself(forward)
            if own is not None:
                trail.append(Step(own.site, "its own forward pass switches it back to training mode here"))
            elif mode is not None and mode.training is not False:  # else a part of it switches back, in its own pass
                trail.append(Step(mode.site, "it is switched to training mode here and stays in it"))
            trail.append(Step(forward.site, "no `backward()` follows this forward pass: it is an evaluation"))
            remedy = f"call `{forward.name}.eval()` before the pass, and `train()` before training continues"
            yield self.finding(
                forward.site,
                message(_KNOWN if forward.training else _SAME, name=forward.name),
                help=remedy if own is None else f"remove `{own.name}.train()`, and let the caller set the mode",
                trail=trail,
                cause=place(passes.first_of_block(forward, wrong).site),
                edits=in_evaluation_mode(passes, forward) if own is None else left_alone(passes, mode, own, forward),
            )

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Whether the forward evaluated, and always in evaluation mode."""
        evaluating = trace.view(Passes).evaluating_at(finding.site)
        wrong = [event for event in evaluating if event.training is not False]
        if any(event.sensitive for event in wrong):
            return "it runs in training mode here, but possibly on purpose"
        return "in this run no part of the module depends on the mode" if wrong else bool(evaluating)

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """What the same batch gave twice, and how many batches ran in which mode."""
        evaluating = trace.view(Passes).evaluating_at(finding.site)
        return answers(trace, evaluating, "in training mode", lambda event: event.training)


def _may_come_to_train(trace: Trace) -> bool:
    """Whether a run ended before the training that the source shows: an agent that explores, say, acts for that."""
    return trace.run is not None and bool(trace.run.foreseen) and not trace.of(Backward)


def _is_meant_to_have_modes(modes: Modes, forward: Forward) -> bool:
    """Whether training code that takes any model puts it into training mode itself, as one with dropout needs."""
    trace, last = modes.trace, modes.last(forward)
    outside = trace.begins_outside and all(built.module != forward.module for built in trace.of(ModuleBuilt))
    sets = last is not None and last.training is True
    return outside and forward.sensitive is None and (sets or modes.is_never_set(forward))


def _trains_on_purpose(modes: Modes, forward: Forward) -> bool:
    """Whether training mode is meant: Monte-Carlo dropout, or batch norm that renews its statistics."""
    last = modes.last(forward)
    if last is None:
        return False
    escaped = any(
        modes.passes.family.related(event.modules, (forward.module,))
        for event in modes.trace.between(last, forward, Escaped)
    )
    if last.training is not True or escaped:
        return any(
            mode.training is not False and not mode.whole and last.index < mode.index < forward.index
            for mode in modes.trace.of(ModeSet)
        )
    trained = any(last.index < backward.index < forward.index for backward in modes.passes.training_of(forward))
    return not trained and not is_scored_once(modes.trace, forward)
