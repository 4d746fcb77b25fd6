"""TDR605: a checkpoint to go on from, without the state of the optimizer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.rule import Evidence, Finding, Level, Rule, Step
from torch_doctor.trace import Loaded, OptimizerBuilt, Saved, SchedulerBuilt, StateTaken, Stepped, Trace
from torch_doctor_rules.judging.evidence import at, count, fact
from torch_doctor_rules.judging.family import Family
from torch_doctor_rules.judging.wording import message

if TYPE_CHECKING:
    from collections.abc import Iterator

PROGRESS = "epoch"
"""What the key of a checkpoint's progress is called: https://docs.pytorch.org/tutorials/beginner/saving_loading_models.html"""


class ResumeWithoutOptimizer(Rule):
    """A checkpoint with the epoch in it has the model's weights and not the optimizer's state.

    ## Why is this bad?
    Adam, and SGD with momentum, keep averages for every parameter. Training that goes on from the weights alone begins with
    empty ones: the first steps are too large or point elsewhere, and the loss jumps. The learning rate of a scheduler is
    lost in the same way.

    ## Example
    ```python
    import tempfile

    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    optimizer = torch.optim.Adam(model.parameters())
    folder = tempfile.mkdtemp()
    for epoch in range(3):
        x = torch.randn(32, 4)
        loss = nn.functional.mse_loss(model(x), x[:, :1])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        torch.save({"epoch": epoch, "model": model.state_dict()}, f"{folder}/last.pt")
    ```

    ## Use instead
    ```python
    import tempfile

    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    optimizer = torch.optim.Adam(model.parameters())
    folder = tempfile.mkdtemp()
    for epoch in range(3):
        x = torch.randn(32, 4)
        loss = nn.functional.mse_loss(model(x), x[:, :1])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        state = {"epoch": epoch, "model": model.state_dict(), "optimizer": optimizer.state_dict()}
        torch.save(state, f"{folder}/last.pt")
    ```

    ## How the probe confirms it
    What was written holds the epoch and the weights of a model that an optimizer with a memory trains, and nothing that was
    written holds an optimizer's state.

    ## When it stays silent
    For weights alone, for a best state that is only loaded to be evaluated when training is over, for optimizers that keep
    nothing (plain SGD), when any file of the script holds the optimizer's state, and when it is not known what is saved.

    ## References
    - https://docs.pytorch.org/tutorials/beginner/saving_loading_models.html
    - https://docs.pytorch.org/docs/stable/optim.html#adjusting-optimizer-state
    """

    code = "TDR605"
    name = "resume-without-optimizer"
    level = Level.WARNING
    witness = "SP"

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Every save of a trained model with its epoch, where no file gets the optimizer."""
        saves = trace.of(Saved)
        if any(saved.optimizer is not False for saved in saves):
            return
        found = ((saved, _trainer(trace, saved)) for saved in saves if _progress(saved))
        known = {each.optimizer: (saved, each) for saved, each in reversed([*found]) if each is not None}
        for saved, optimizer in known.values():
            name = optimizer.name or optimizer.class_name.rpartition(".")[2]
            others = {each.optimizer for each in trace.of(SchedulerBuilt)}
            more = " and its scheduler" if optimizer.optimizer in others else ""
            yield self.finding(
                saved.site,
                message("the checkpoint has the epoch but not the state of `{name}`" + more, name=name),
                help='add `"optimizer": optimizer.state_dict()`, and load it where training goes on',
                trail=[Step(optimizer.site, "the optimizer that is left out is built here")],
            )

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Whether the save ran, and an optimizer's state was written after all, or none is needed."""
        saved = at(trace, finding.site, Saved)
        if any(each.optimizer for each in trace.of(Saved)):
            return True
        return "no trained model with its epoch was written" if saved else False

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """What the file holds."""
        for saved in at(trace, finding.site, Saved)[:1]:
            held = " and an optimizer's state" if saved.optimizer else ", none of them an optimizer's state"
            keys = count(len(saved.keys), "key")
            yield fact(f"the file holds {keys} ({', '.join(saved.keys[:6])}){held}", len(saved.keys), "keys", saved)


def _progress(saved: Saved) -> bool:
    return not saved.buffer and any(PROGRESS in key.lower() for key in saved.keys)


def _trainer(trace: Trace, saved: Saved) -> OptimizerBuilt | None:
    """The optimizer with a memory that surely trains what is saved; none where the file is only read back to evaluate."""
    family = Family(trace)
    taken = {event.module for event in trace.of(StateTaken) if event.index in saved.states} | set(saved.modules)
    steps = {event.optimizer: event.index for event in trace.of(Stepped)}
    loads = [event.index for event in trace.of(Loaded) if family.related((event.module,), taken)]
    return next(
        (
            built
            for built in trace.of(OptimizerBuilt)
            if built.remembers is True
            and built.optimizer in steps
            and family.related(built.modules, taken)
            and (not loads or min(loads) < steps[built.optimizer])
        ),
        None,
    )
