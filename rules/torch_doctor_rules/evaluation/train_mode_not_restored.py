"""TDR403: training continues in evaluation mode."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.edits import Figure
from torch_doctor.rule import Evidence, Finding, Fix, Level, Rule, Step
from torch_doctor.trace import Forward, ModeSet, Run, Trace
from torch_doctor_rules.judging.evaluation_edits import in_training_mode
from torch_doctor_rules.judging.evaluation_updates import EvaluationUpdates
from torch_doctor_rules.judging.evidence import at
from torch_doctor_rules.judging.forward_evidence import batches
from torch_doctor_rules.judging.modes import Modes
from torch_doctor_rules.judging.passes import Passes
from torch_doctor_rules.judging.precedence import uncalled
from torch_doctor_rules.judging.sites import first_per_site
from torch_doctor_rules.judging.wording import message, owner

if TYPE_CHECKING:
    from collections.abc import Iterator


class TrainModeNotRestored(Rule):
    """The model is switched to evaluation mode, and training continues without switching it back.

    ## Why is this bad?
    The mode stays until it is changed. After the first validation, every epoch trains without dropout and with frozen
    batch norm statistics. The model overfits, and it is not the one that you configured. The same happens if a helper
    returns a restored model ready to predict, and a function that does not call `train()` goes on to train it.

    ## Example
    ```python
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(0.5), nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(3):
        for x, y in DataLoader(train_set, batch_size=16, shuffle=True):
            optimizer.zero_grad()
            nn.functional.mse_loss(model(x), y).backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            for x, y in DataLoader(test_set, batch_size=32):
                print(nn.functional.mse_loss(model(x), y).item())
    ```

    ## Use instead
    ```diff
     for epoch in range(3):
    +    model.train()
         for x, y in DataLoader(train_set, batch_size=16, shuffle=True):
    ```

    ## Fix safety
    The fix is unsafe because it changes how the model trains. It calls `train()` at the start of every epoch, or after
    a validation within an epoch. If submodules have modes of their own, there is no fix.

    ## How the probe confirms it
    The forward pass that `backward()` follows runs in training mode in the first epoch and in evaluation mode in the
    second. A run of one epoch does not show it.

    ## When it is not reported
    - The model has no dropout or batch norm.
    - For submodules, teachers and averaged copies that are frozen on purpose.
    - A submodule is switched back to training mode by itself.
    - Training runs in evaluation mode from the start, unless the same line trained another model in training mode, or a
      function made the switch for an evaluation of its own.
    - Unresolved code may switch the mode back, or decides whether it is switched.

    ## References
    - https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.train
    - https://docs.pytorch.org/docs/stable/notes/autograd.html#evaluation-mode-nn-module-eval
    """

    code = "TDR403"
    name = "train-mode-not-restored"
    level = Level.ERROR
    witness = "SP"
    shown_by = "training batch after the switch"
    fix = Fix.UNSAFE
    fix_changes = frozenset({Figure.OUTPUTS, Figure.UPDATES})

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Every switch to evaluation mode under which training goes on."""
        modes = Modes(passes := trace.view(Passes))
        found = []
        for forward in trace.of(Forward):
            if forward.sensitive is False or forward.training is True or not modes.updates(forward):
                continue
            mode = modes.holds_evaluation(forward)
            if (
                mode is not None
                and (trace.implies(forward, mode) or not trace.asked(mode))
                and (
                    modes.trained_another(mode, forward)
                    or modes.left_by_evaluation(mode, forward)
                    or (mode.scope.iterations() and modes.goes_on(mode, forward))
                )
                and not uncalled(trace, "train", {forward.module, mode.module}, passes.family, (mode, forward))
            ):
                found.append(self._report(passes, mode, forward))
        yield from trace.view(EvaluationUpdates).unexplained(list(first_per_site(found)))

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Whether training went on after the switch, in training mode again."""
        later = self._trained_after(trace, finding)
        if all(event.training for event in later):
            return bool(later) and not self._cut_short(trace, finding)
        if any(event.sensitive for event in later):
            return "training continues in evaluation mode, but possibly on purpose"
        return "in this run no part of the module depends on the mode"

    def _cut_short(self, trace: Trace, finding: Finding) -> bool:
        """Whether the probe ended each loop that trains and switches before it trained again."""
        passes, run = trace.view(Passes), trace.run or Run()
        last: dict[int, int] = {}
        for event in trace.of(Forward):
            last |= dict.fromkeys(
                (scope.loop for scope in event.scope.iterations() if passes.trains(event)), event.index
            )
        for mode in at(trace, finding.site, ModeSet):
            around = [scope for scope in mode.scope.iterations() if scope.loop in last]
            if not around or around[-1].site not in run.capped or mode.index < last[around[-1].loop]:
                return False
        return True

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """How many training batches after the switch ran in which mode."""
        later = self._trained_after(trace, finding)
        return batches(
            later, "after the switch run in evaluation mode", lambda event: not event.training, "training batches"
        )

    def _trained_after(self, trace: Trace, finding: Finding) -> list[Forward]:
        """The forwards of the same modules that train, after the first switch."""
        passes = trace.view(Passes)
        switches = [mode for mode in at(trace, finding.site, ModeSet) if mode.training is False][:1]
        return [
            event
            for event in trace.of(Forward)
            if any(
                mode.index < event.index and passes.family.related((mode.module,), (event.module,)) for mode in switches
            )
            and passes.trains(event)
        ]

    def _report(self, passes: Passes, mode: ModeSet, forward: Forward) -> Finding:
        name = owner(mode.name, "eval", forward.name)
        return self.finding(
            mode.site,
            message(
                "`{name}` stays in evaluation mode: training continues without dropout and batch norm updates",
                name=name,
            ),
            help=f"call `{name}.train()` before the next training batch",
            trail=(
                Step(mode.site, "it is switched to evaluation mode here"),
                Step(forward.site, "the next training batch still runs in evaluation mode"),
            ),
            edits=in_training_mode(passes, mode, forward) or (),
        )
