"""TDR112: the model is updated where it is evaluated."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.rule import Evidence, Finding, Level, Rule, Step
from torch_doctor.trace import Backward, Forward, ModeSet, Trace
from torch_doctor_rules.judging.evaluation_updates import EvaluationUpdate, EvaluationUpdates
from torch_doctor_rules.judging.evidence import at, count, fact
from torch_doctor_rules.judging.sites import first_per_site
from torch_doctor_rules.judging.wording import message, owner

if TYPE_CHECKING:
    from collections.abc import Iterator


class UpdateInEvaluation(Rule):
    """The validation pass calls `backward()` or `step()`, so the model is trained on held-out data.

    ## Why is this bad?
    A model that was updated on the validation batches has seen them. Its validation score no longer measures
    performance on unseen data, and model selection picks the checkpoint that overfits most. Usually the training loop
    was copied, or one loop serves both phases and the update is not guarded.

    ## Example
    ```python
    model = nn.Sequential(nn.Linear(4, 8), nn.Dropout(), nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    rows = {name: TensorDataset(torch.randn(24, 4), torch.randn(24, 1)) for name in ("train", "val")}
    batches = {name: DataLoader(data, batch_size=8, shuffle=name == "train") for name, data in rows.items()}
    for phase in ["train", "val"]:
        model.train() if phase == "train" else model.eval()
        for x, y in batches[phase]:
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(x), y)
            loss.backward()
            optimizer.step()
    ```

    ## Use instead
    ```diff
             optimizer.zero_grad()
    -        loss = nn.functional.mse_loss(model(x), y)
    -        loss.backward()
    -        optimizer.step()
    +        with torch.set_grad_enabled(phase == "train"):
    +            loss = nn.functional.mse_loss(model(x), y)
    +        if phase == "train":
    +            loss.backward()
    +            optimizer.step()
    ```

    ## How the probe confirms it
    After `eval()`, the optimizer that trains the model on other batches steps in this pass.

    ## When it is not reported
    - The pass is not preceded by `eval()` of the entire model.
    - No pass over other data trains the model in training mode.
    - Another optimizer steps, as in the fast adaptation of a copy or an attack on the inputs.
    - The gradients are never applied.

    ## References
    - https://docs.pytorch.org/tutorials/beginner/basics/optimization_tutorial.html
    - https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.eval
    """

    code = "TDR112"
    name = "update-in-evaluation"
    level = Level.ERROR
    witness = "SP"
    shown_by = "pass here in evaluation mode"

    def check(self, trace: Trace) -> Iterator[Finding]:
        """The first update of every evaluation pass."""
        yield from first_per_site(self._report(update) for update in trace.view(EvaluationUpdates).found())

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Whether the pass ran in evaluation mode, without such an update."""
        batches = self._evaluated(trace, finding)
        back = frozenset[int]().union(*(event.loss.graph_forwards for event in trace.of(Backward)))
        if any(forward.index in back for forward in batches):
            return "these batches update the model, but it is unknown whether they are held out"
        return len(batches) > 1 or (bool(batches) and "the probe run ended at the first evaluation batch")

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """How many evaluation batches updated the model."""
        updated = {update.forward.index for update in trace.view(EvaluationUpdates).found()}
        batches = self._evaluated(trace, finding)
        found = sum(forward.index in updated for forward in batches)
        if batches:
            yield fact(
                f"{found} of {count(len(batches), 'evaluation batch', 'evaluation batches')} update the model",
                found,
                "batches",
                batches[0],
            )

    def _evaluated(self, trace: Trace, finding: Finding) -> list[Forward]:
        """The batches that ran after the switch."""
        switches = [mode for mode in at(trace, finding.trail[0].site, ModeSet) if mode.training is False]
        forwards = at(trace, finding.trail[1].site, Forward)
        return [forward for forward in forwards if any(_follows(trace, forward, mode) for mode in switches)]

    def _report(self, update: EvaluationUpdate) -> Finding:
        step = owner(update.step.name, "step", "the optimizer")
        if update.backward is not None:
            loss = owner(update.backward.name, "backward", "the loss")
            text = message(
                "`{loss}.backward()` and `{step}.step()` run in evaluation: held-out data trains the model",
                loss=loss,
                step=step,
            )
        else:
            text = message(
                "`{step}.step()` runs in evaluation: it applies gradients left over from training", step=step
            )
        return self.finding(
            (update.backward or update.step).site,
            text,
            help="evaluate under `torch.no_grad()`, and update the model only in the training pass",
            trail=(
                Step(update.mode.site, "the model is switched to evaluation mode here"),
                Step(update.forward.site, "it is called on the evaluation batches here"),
                Step(update.step.site, "it is updated here"),
                Step(update.training.site, "it is trained on other batches here"),
            ),
        )


def _follows(trace: Trace, forward: Forward, mode: ModeSet) -> bool:
    """Whether the switch is the last one before the forward."""
    switches = (other for other in trace.of(ModeSet) if mode.index < other.index < forward.index)
    return mode.index < forward.index and not any(other.training is not False for other in switches)
