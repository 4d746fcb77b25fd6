"""TDR133: a target keeps its graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.edits import Figure, Wrap
from torch_doctor.rule import Evidence, Finding, Fix, Level, Rule, Step, same_place
from torch_doctor.trace import Backward, OptimizerBuilt, Renamed, Stepped, TargetKept, Trace
from torch_doctor_rules.judging.causes import place
from torch_doctor_rules.judging.evidence import at, count, fact
from torch_doctor_rules.judging.sites import first_per_site
from torch_doctor_rules.judging.wording import message, named

if TYPE_CHECKING:
    from collections.abc import Iterator


class TargetNotDetached(Rule):
    """A bootstrap target, or the output of a teacher, keeps its graph.

    ## Why is this bad?
    The target of temporal-difference learning is computed by the network itself: `reward + gamma * net(next_state)`. If it
    keeps its graph, gradients flow through it, and each update moves the target towards the prediction as well:

        prediction  net(s)  ──>     <──  r + 0.9 · net(s')        with a graph: both sides move
        prediction  net(s)  ────────>    r + 0.9 · net(s')        detached: only the prediction moves

    The loss falls, but in a world with chance the values are wrong: they minimize another error (the Bellman residual).
    If another network computes the target (a target network, a teacher, an average) which no optimizer steps, the result is
    the same, but its graph and its gradients cost time and memory in each step: a warning.

    ## Example
    ```python
    value = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
    optimizer = torch.optim.Adam(value.parameters())
    for step in range(4):
        state, reward, after = torch.randn(32, 4), torch.randn(32, 1), torch.randn(32, 4)
        target = reward + 0.9 * value(after)
        loss = nn.functional.mse_loss(value(state), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Use instead
    ```diff
         target = reward + 0.9 * value(after)
    -    loss = nn.functional.mse_loss(value(state), target)
    +    loss = nn.functional.mse_loss(value(state), target.detach())
         optimizer.zero_grad()
    ```

    ## How the probe confirms it
    Before `backward()`, the probe follows the graph of the loss through the target to parameters. If no target in the loss
    has a graph, the finding is refuted.

    ## When it is not reported
    - If the target is not something given (a reward) plus a fraction of a network's output for other inputs than those of the
      prediction, and no output of a network that nobody trains: two views of a sample (SimCLR, VICReg), models that learn
      from each other, reconstructions, losses of an actor such as `-critic(state, actor(state))`, rewards that a model
      predicts.
    - If the loss also uses the same output without its graph, as methods do that weight both gradients.
    - If a part of the target is computed by another network that the same optimizer steps.
    - If all parameters behind the target are frozen: then it has no graph.

    ## References
    - https://docs.pytorch.org/tutorials/intermediate/reinforcement_q_learning.html
    - https://docs.pytorch.org/docs/stable/generated/torch.Tensor.detach.html
    """

    code = "TDR133"
    name = "target-not-detached"
    level = Level.ERROR
    witness = "SP"
    only_confirms = True
    needs = frozenset({"targets"})
    explained_by = frozenset({"TDR129"})
    shown_by = "backward pass of this loss"
    fix = Fix.UNSAFE
    fix_changes = frozenset({Figure.LOSS, Figure.OUTPUTS, Figure.GRADIENTS, Figure.UPDATES})

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Yield a finding for each target whose graph a backward pass goes through."""
        seen = [event for event in trace.of(TargetKept) if event.kept]
        if any(event.operand is None for event in seen):  # of a run: whose networks they are, the source tells
            yield from map(self._report, seen)
            return
        renamed = frozenset[int]().union(*(each.modules for each in trace.of(Renamed) if each.treated))
        found = [each for each in seen if not each.modules & renamed and _is_named(trace, each)]
        yield from map(self._report, first_per_site(found))

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Return whether the loss went backward and no target in it had a graph."""
        events = _passes(trace, finding)
        if not events and not at(trace, finding.trail[-1].site, Backward):
            return False
        return (bool(events) and all(event.kept is False for event in events)) or "it is unclear what the target is"

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """Yield how many parameters gradients reach through the target."""
        for event in _passes(trace, finding):
            if event.kept is False or event.own is (finding.level is Level.ERROR):
                text = f"gradients reach {count(event.reached, 'parameter')} through the target"
                yield fact(text, event.reached, "parameters", event)
                return

    def same(self, finding: Finding, seen: Finding) -> bool:
        """Return whether both are about the targets of one backward pass: a run does not show where they are computed."""
        return finding.level is seen.level and same_place(finding.trail[-1].site, seen.trail[-1].site)

    def _report(self, event: TargetKept) -> Finding:
        return self.finding(
            event.site,
            message(
                _OWN if event.own else _OTHER,
                name=named(event.name, "this target"),
                network=named(event.network, "a network"),
            ),
            level=Level.ERROR if event.own else Level.WARNING,
            help="use the target without its graph: `.detach()`, or compute it under `torch.no_grad()`",
            trail=[Step(event.backward_at, "gradients go through the target here")],
            edits=[Wrap(event.site, "{}.detach()", argument=event.operand)] if event.operand is not None else [],
            cause=f"{event.name} {place(event.backward_at)}",
        )


_OWN = "`{name}` keeps its graph: the update moves the target towards the prediction, too"
_OTHER = "`{name}` keeps a graph through `{network}`, which no optimizer steps"


def _passes(trace: Trace, finding: Finding) -> list[TargetKept]:
    return [each for each in trace.of(TargetKept) if same_place(each.backward_at, finding.trail[-1].site)]


def _is_named(trace: Trace, event: TargetKept) -> bool:
    """Whether the network that learns is behind the target and is stepped then, or one that nobody steps is.

    None of those behind the target is in the optimizer that steps the network that learns, in the second case.
    """
    if event.own:
        return any(event.modules & step.modules for step in trace.of(Stepped) if step.index > event.index)
    built = trace.of(OptimizerBuilt)
    stepping = {step.optimizer for step in trace.of(Stepped)}
    stepped = {step.optimizer for step in trace.of(Stepped) if event.learners & step.modules}
    if not stepped or not stepped <= {each.optimizer for each in built} or not all(each.whole for each in built):
        return False
    owned = frozenset[int]().union(*(each.modules for each in built if each.optimizer in stepping))
    beside = frozenset[int]().union(*(each.modules for each in built if each.optimizer in stepped))
    return not event.modules & beside and not event.modules <= owned
