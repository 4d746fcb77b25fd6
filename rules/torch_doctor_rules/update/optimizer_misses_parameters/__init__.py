"""TDR114: parameters that get gradients are in no optimizer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.rule import Evidence, Finding, Level, Rule, Step
from torch_doctor.trace import Backward, Meant, ModuleBuilt, OptimizerBuilt, Stepped, Trace
from torch_doctor_rules.judging.evidence import at, count, fact
from torch_doctor_rules.judging.passes import Passes
from torch_doctor_rules.judging.wording import message, owner, sentence
from torch_doctor_rules.update.optimizer_misses_parameters.missed_parameters import Missed, missing

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Site


class OptimizerMissesParameters(Rule):
    """The optimizer has the parameters of another model, of replaced layers, or of only part of the model.

    ## Why is this bad?
    An optimizer holds exactly the parameters that it was given. If the model is then created again, copied, or gets a
    new head, the loss depends on parameters that no optimizer has. They keep their initial values, and the optimizer
    updates parameters that are no longer part of the model. Or a part was forgotten: a decoder, a layer between two
    parameter groups, a loss with weights of its own. No error is raised.

    ## Example
    ```python
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
    for _ in range(4):
        x, y = torch.randn(16, 4), torch.randint(0, 3, (16,))
        model.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
    ```

    ## Use instead
    ```diff
    -model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 10))
    +model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
     optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    -model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
     for _ in range(4):
    ```

    ## How the probe confirms it
    The probe compares, by identity, the parameters that get gradients with those in the optimizers. A layer that still
    has its initial weights, gets gradients and is in no optimizer is reported even if the static scan does not find
    it.

    ## When it is not reported
    - The script clears the gradients of a part that was created before the optimizer's: it is left out on purpose.
    - The optimizer has inputs, such as a picture, and the network only computes features of them.
    - Another optimizer or a manual update changes the rest in the same loops.
    - The part has other weights than those it was created with (a loaded model, a target network).
    - A parameter group is added.
    - An optimizer or the model is passed to unresolved code before the optimizer's last step.

    ## References
    - https://docs.pytorch.org/docs/stable/optim.html#constructing-it
    """

    code = "TDR114"
    name = "optimizer-misses-parameters"
    level = Level.ERROR
    witness = "SP"
    needs = frozenset({"parameters"})
    voided_by = frozenset({"inside"})
    shown_by = "step of this optimizer"
    explained_by = frozenset(("TDR113", "TDR115", "TDR119", "TDR304"))
    meant = Meant.TAKEN

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Yield every optimizer that steps and misses parameters that get gradients in the same loops."""
        seen: set[Site] = set()
        for missed in missing(trace):
            if missed.built.site not in seen:
                seen.add(missed.built.site)
                yield self._report(trace, missed)

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Return whether the optimizer stepped the parameters that got gradients."""
        built = {event.optimizer for event in at(trace, finding.site, OptimizerBuilt)}
        steps = [step for step in trace.of(Stepped) if step.optimizer in built]
        trained = frozenset[int]().union(*(event.modules for event in trace.of(Backward)))
        if steps and not trained <= frozenset[int]().union(*(step.modules for step in trace.of(Stepped))):
            return "gradients reach parameters that are in no optimizer, but possibly on purpose"
        parts = {event.module for event in at(trace, finding.trail[-1].site, ModuleBuilt)}
        if parts and not trace.view(Passes).family.related(parts, trained):
            return False  # a part that is trained later on
        if len(steps) == 1:
            return "a layer that `forward` replaces is missing only from the second step on, and there was one step"
        return bool(steps)

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """How many modules that got gradients no optimizer has."""
        built = {event.optimizer for event in at(trace, finding.site, OptimizerBuilt)}
        own = [step for step in trace.of(Stepped) if step.optimizer in built]
        passes = [event for event in trace.of(Backward) if any(trace.same_phase(event, step) for step in own)]
        steps = [event for event in trace.of(Stepped) if any(trace.same_phase(event, step) for step in own)]
        trained = frozenset[int]().union(*(event.modules for event in passes))
        missed = trained - frozenset[int]().union(*(event.modules for event in steps))
        text = f"{len(missed)} of {count(len(trained), 'module')} with gradients are in no optimizer that steps there"
        yield fact(text, len(missed), "modules", next(iter(at(trace, finding.site, OptimizerBuilt)), None))

    def _report(self, trace: Trace, missed: Missed) -> Finding:
        built = missed.built
        steps = (step.name for step in trace.of(Stepped) if step.optimizer == built.optimizer)
        name = built.name or owner(next(steps, ""), "step", "the optimizer")
        text = "`{name}` does not have the parameters that get gradients: they are never updated"
        remedy = "create the optimizer after the model is complete, from the model that is trained"
        where = "a module that is trained, but not in the optimizer, is used here"
        if missed.part:
            text = "`{name}` has only some of the parameters that get gradients: the others are never updated"
            where = f"this `{missed.part.rpartition('.')[2]}` is trained, but not in the optimizer"
            remedy = "pass the parameters of every trained part, and freeze the parts that must not change"
        return self.finding(
            built.site,
            message(text, name=name),
            help=remedy,
            trail=(
                Step(built.site, sentence("`{name}` receives its parameters here", name=name)),
                Step(missed.site, where),
            ),
        )
