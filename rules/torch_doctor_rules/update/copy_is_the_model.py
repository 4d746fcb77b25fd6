"""TDR129: what is meant as a copy of a model is the model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.edits import Figure, Wrap
from torch_doctor.rule import Evidence, Finding, Fix, Level, Rule, Step
from torch_doctor.trace import OptimizerBuilt, Renamed, Stepped, Trace
from torch_doctor_rules.judging.evidence import at, count, fact
from torch_doctor_rules.judging.sites import first_per_site
from torch_doctor_rules.judging.wording import message

if TYPE_CHECKING:
    from collections.abc import Iterator


class CopyIsTheModel(Rule):
    """A target network, teacher, average or reference is the trained model itself, not a copy.

    ## Why is this bad?
    `target = net` copies nothing, and neither does `net.to(device)`, `.eval()`, `.train()`, `.requires_grad_()`, `.cpu()` or
    `.float()`: these methods return the module that they are called on. Every step of the optimizer changes the target
    network, too, so a target never stays behind, an average is the last weights, the KL divergence from a reference is 0,
    and `requires_grad_(False)` freezes the trained model. The same happens to parameters in a list or dict without `clone()`:
    `detach()` and `.data` share their memory.

    ## Example
    ```python
    net = nn.Linear(4, 2)
    target = net.to("cpu")
    optimizer = torch.optim.Adam(net.parameters())
    for step in range(6):
        state, reward, after = torch.randn(8, 4), torch.randn(8, 2), torch.randn(8, 4)
        with torch.no_grad():
            goal = reward + 0.9 * target(after)
        optimizer.zero_grad()
        nn.functional.mse_loss(net(state), goal).backward()
        optimizer.step()
        if step % 3 == 0:
            target.load_state_dict(net.state_dict())
    ```

    ## Use instead
    ```diff
     net = nn.Linear(4, 2)
    -target = net.to("cpu")
    +target = copy.deepcopy(net.to("cpu"))
     optimizer = torch.optim.Adam(net.parameters())
    ```

    ## How the probe confirms it
    After the assignment, an optimizer steps that has exactly this memory among its parameters. If the parameters are in
    memory of their own, the finding is refuted.

    ## When it is not reported
    - If nothing shows that two models are meant. Any of these does: the weights of one name are loaded into the other;
      the parameters of both are averaged or subtracted; a loss compares the outputs of both for the same inputs, one of them
      without a graph.
    - For another name that is only called, evaluated or saved, such as `raw_model = model` or `model.module`, and for layers
      that are shared on purpose.
    - If outputs are compared that were computed before an update, such as the old probabilities of PPO.
    - For the best model so far, and for `state_dict()` without a copy (TDR602).
    - If it depends on a condition whether the model is copied.

    ## References
    - https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html
    - https://docs.pytorch.org/tutorials/intermediate/reinforcement_q_learning.html
    """

    code = "TDR129"
    name = "copy-is-the-model"
    level = Level.ERROR
    witness = "SP"
    only_confirms = True
    needs = frozenset({"renamed"})
    shown_by = "optimizer step after that"
    fix = Fix.UNSAFE
    fix_changes = frozenset({Figure.LOSS, Figure.OUTPUTS, Figure.GRADIENTS, Figure.UPDATES, Figure.STATE})

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Yield a finding for each name of a trained model, or of its parameters, that is treated as a copy."""
        events: list[OptimizerBuilt | Stepped] = [*trace.of(OptimizerBuilt), *trace.of(Stepped)]
        trained = frozenset[int]().union(*(event.modules for event in events))
        for event in first_per_site([each for each in trace.of(Renamed) if each.shared]):
            if event.treated and not event.modules & trained:
                continue
            yield self.finding(
                event.site,
                message(_OF_PARAMETERS if event.parameters else _TEXT, name=event.name, model=event.model),
                help="copy it: `copy.deepcopy(…)`",
                trail=[Step(event.treated_at, _USES[event.treated])] if event.treated_at is not None else [],
                edits=[] if event.several else [Wrap(event.site, "$copy.deepcopy({})")],
            )

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Return whether an optimizer stepped while the name had parameters of their own."""
        if at(trace, finding.site, Renamed) or not trace.of(Stepped):
            return bool(trace.of(Stepped))
        return "it is unknown whose parameters the name got"

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """Yield how many of its parameters the optimizer has."""
        for event in at(trace, finding.site, Renamed)[:1]:
            shared = event.tensors if event.shared else 0
            text = f"the optimizer steps {shared:,} of {count(event.tensors, 'parameter')} of `{event.name}`"
            yield fact(text, shared, "parameters", event)


_TEXT = "`{name}` is the trained model itself, not a copy: every step changes it, too"
_OF_PARAMETERS = "`{name}` has the trained parameters themselves, no copies: every step changes them"
_USES = {
    "loaded": "the model gets its own weights here",
    "averaged": "the weights are averaged with themselves here",
    "subtracted": "the weights are compared with themselves here",
    "compared": "the model is compared with itself here: it has the same weights and the same inputs",
}
