"""TDR602: the saved best weights change with every further step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.edits import Figure, Wrap
from torch_doctor.rule import Evidence, Finding, Fix, Level, Rule, Step
from torch_doctor.trace import Loaded, Saved, StateTaken, Stepped, Trace
from torch_doctor_rules.checkpoint.state_dict_alias.overwriting import overwritten, steps_after
from torch_doctor_rules.judging.evidence import at, count, fact
from torch_doctor_rules.judging.sites import first_per_site
from torch_doctor_rules.judging.wording import message

if TYPE_CHECKING:
    from collections.abc import Iterator


class StateDictAlias(Rule):
    """The best weights are stored by reference, so further training overwrites them.

    ## Why is this bad?
    `state_dict()` does not copy: its tensors share memory with the parameters. The stored "best" state therefore changes
    with every later step, and loading it restores the last weights instead of the best ones. The same happens with a
    shallow copy of the dict, and with the model itself: `best = model`, `best = (score, model)`, `copy.copy(model)`,
    `max(best, (score, model))`. Parameters are not copied either by `list(model.parameters())` or `[p.data for p in ...]`.

    ## Example
    ```python
    model, best, best_loss = nn.Linear(4, 1), None, float("inf")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(5):
        x = torch.randn(32, 4)
        loss = nn.functional.mse_loss(model(x), x[:, :1])
        if loss.item() < best_loss:
            best, best_loss = model.state_dict(), loss.item()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.load_state_dict(best)
    ```

    ## Use instead
    ```diff
         if loss.item() < best_loss:
    -        best, best_loss = model.state_dict(), loss.item()
    +        best, best_loss = copy.deepcopy(model.state_dict()), loss.item()
         optimizer.zero_grad()
    ```

    ## How the probe confirms it
    The tensors that are loaded or saved later share memory with the model's parameters, and the optimizer has stepped in
    between. If each epoch of the run was better than the last, the states that were replaced had changed by then.

    ## When it is not reported
    - If the state is saved or loaded before the next optimizer step.
    - If the state is a deep copy.
    - If the model is moved to another device before the next step: what was stored stays where it was.
    - If nothing outside the branch that renews the best score reads the stored model or parameters, or another model is
      trained from there on.
    - If the state is only loaded into another model.
    - In a class that the analyzed code never uses, unless a method shows that one call stores the state and a later call
      loads it.

    ## References
    - https://docs.pytorch.org/docs/stable/notes/serialization.html
    - https://docs.pytorch.org/tutorials/beginner/saving_loading_models.html
    """

    code = "TDR602"
    name = "state-dict-alias"
    level = Level.ERROR
    witness = "SP"
    shown_by = "stored state that was used again after an optimizer step"
    fix = Fix.SAFE
    fix_changes = frozenset({Figure.STATE})

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Yield a finding for every stored state that is used after further training."""
        yield from first_per_site(
            self._report(taken, step, use) for taken in trace.of(StateTaken) for step, use in overwritten(trace, taken)
        )

    def speaks_alone(self, trace: Trace, finding: Finding) -> bool:
        """Return whether the run used the very state that it overwrote: one that is always replaced may be right."""
        taken = at(trace, finding.site, StateTaken)
        return any(True for each in taken for _ in overwritten(trace, each, alone=True))

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Return whether the module was trained after its state was stored, and then loaded a different state."""
        for taken in at(trace, finding.site, StateTaken):
            steps = steps_after(trace, taken)
            later = [
                use for use in trace.of(Loaded) if use.module == taken.module and steps and use.index > steps[0].index
            ]
            if later:
                return (
                    not any(use.states for use in later)
                    or "the state that was loaded had been taken after the last step"
                )
        return False

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """Yield the number of optimizer steps that overwrote the state."""
        for taken in at(trace, finding.site, StateTaken):
            for _, use in overwritten(trace, taken):
                steps = [step for step in steps_after(trace, taken) if use is None or step.index < use.index]
                text = f"{count(len(steps), 'optimizer step')} changed these tensors after they were stored"
                yield fact(text, len(steps), "steps", use or taken)
                return

    def _report(self, taken: StateTaken, step: Stepped | None, use: Loaded | Saved | None) -> Finding:
        text = "`{alias}` is the same object as `{name}`, not a copy: later training steps overwrite it"
        if not taken.alias:
            text = "the state of `{name}` is stored without a copy: later training steps overwrite it"
        elif taken.parameters:
            text = "`{alias}` has the parameters of `{name}`, not copies: later training steps overwrite them"
        trail = [Step(step.site, "this step changes the same tensors")] if step is not None else []
        if use is not None:
            trail.append(Step(use.site, "the state that is used here is the one after the last step"))
        return self.finding(
            taken.site,
            message(text, name=taken.name, alias=taken.alias),
            help="store a copy: `copy.deepcopy(…)`",
            trail=trail,
            edits=[Wrap(taken.site, "$copy.deepcopy({})")],
        )
