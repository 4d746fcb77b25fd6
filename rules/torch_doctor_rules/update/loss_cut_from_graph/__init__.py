"""TDR115: the loss has lost its graph before `backward()`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.rule import Evidence, Finding, Level, Rule, Step, same_place
from torch_doctor.trace import Backward, Broken, Meant, ModuleBuilt, OptimizerBuilt, ParameterCut, Trace
from torch_doctor_rules.judging.evidence import at, count, fact
from torch_doctor_rules.judging.graph_cuts import Cut, Cuts, refused
from torch_doctor_rules.judging.wording import message, owner, sentence
from torch_doctor_rules.update.loss_cut_from_graph.cut_parameters import (
    LOST,
    cause_of,
    lost_parameters,
    never_reached,
    seen_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Site


class LossCutFromGraph(Rule):
    """The loss is recreated from a number, or from something without a graph, before `backward()`.

    ## Why is this bad?
    `torch.tensor(loss.item(), requires_grad=True)` is a new tensor without any connection to the model: `backward()`
    gives a gradient to this tensor alone and to no parameter. The same holds for a loss computed from predicted
    labels, NumPy arrays or detached outputs. Without `requires_grad=True`, torch raises an error; with it, the error
    is silenced and nothing is learned. A parameter that enters the loss as a number, as in
    `scale = self.log_scale.item()`, keeps its value, whatever else learns.

    ## Example
    ```python
    model = nn.Linear(4, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        x, y = torch.randn(16, 4), torch.randint(0, 3, (16,))
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss = torch.tensor(loss.item(), requires_grad=True)
        loss.backward()
        optimizer.step()
    ```

    ## Use instead
    ```diff
         loss = nn.functional.cross_entropy(model(x), y)
    -    loss = torch.tensor(loss.item(), requires_grad=True)
         loss.backward()
    ```

    ## How the probe confirms it
    The loss has no history when `backward()` is called, and no backward pass uses the model's output; or `backward()`
    raises an error because the loss has no graph. For a parameter, no backward pass gave it a gradient.

    ## When it is not reported
    - Another forward pass is still behind the loss (detached advantages, targets and discriminator inputs).
    - The detached value has a backward pass of its own.
    - Part of the loss comes from unresolved code.
    - The parameter is frozen, changed by hand, in no optimizer, or used in any other way.

    TDR118 and TDR119 do not report again what this rule reports.

    ## References
    - https://docs.pytorch.org/docs/stable/generated/torch.tensor.html
    - https://docs.pytorch.org/docs/stable/generated/torch.Tensor.detach.html
    """

    code = "TDR115"
    name = "loss-cut-from-graph"
    level = Level.ERROR
    witness = "SP"
    needs = frozenset({"parameters"})
    voided_by = frozenset({"inside"})
    meant = Meant.REACHED

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Yield every place where the graph of a loss ends before `backward()`."""
        seen: set[Site] = set()
        for cut in Cuts(trace).of_losses():
            if cut.site not in seen:
                seen.add(cut.site)
                yield self._report(cut)
        for event in lost_parameters(trace):
            yield self._lost(event)
        for parameter in never_reached(trace):
            yield self.finding(parameter.site, "this parameter gets no gradient", cause=cause_of(parameter))

    def speaks_alone(self, trace: Trace, finding: Finding) -> bool:  # noqa: ARG002 - what a rule may look at
        """Return whether it is about a loss: TDR118 reports parameters, since only the source shows where they were cut off."""
        return not finding.cause

    def same(self, finding: Finding, seen: Finding) -> bool:
        """Return whether both have one `backward()`, or one parameter: a run does not show where the graph was lost."""
        if finding.cause or seen.cause:
            return finding.cause == seen.cause
        return same_place(finding.trail[-1].site, seen.trail[-1].site)

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Whether parameters got gradients there."""
        if finding.cause:
            fates = [each for each in seen_of(trace, finding.cause) if each.backwards]
            return all(each.gradients for each in fates) if fates else False
        passes = at(trace, finding.trail[-1].site, Backward)
        known = {built.module for built in trace.of(ModuleBuilt)}.union(*(o.modules for o in trace.of(OptimizerBuilt)))
        if passes and not any(
            event.modules & known for event in passes
        ):  # what was made a leaf is its own, and nobody's
            return "no parameter got a gradient, but possibly for another reason"
        return bool(passes)

    def broken(self, finding: Finding) -> Broken | None:
        """The loss, where it goes backward."""
        return None if finding.cause else Broken(finding.trail[-1].site, self.meant, self.code, self.name)

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """How many passes reached nothing."""
        for fate in seen_of(trace, finding.cause) if finding.cause else ():
            text = f"{fate.gradients} of {count(fate.backwards, 'backward pass', 'backward passes')} gave it a gradient"
            yield fact(text, fate.gradients, "gradients", fate)
        if finding.cause:
            return
        site = finding.trail[-1].site
        passes = at(trace, site, Backward)
        empty = [event for event in passes if event.loss.leaf]
        if passes:
            text = f"{len(empty)} of {count(len(passes), 'backward pass', 'backward passes')} reach no parameter"
            yield fact(text, len(empty), "backward passes", passes[0])
        elif any(same_place(site, place) for place in refused(trace)):
            yield Evidence("`backward()` raises an error: the loss has no graph", 1, "losses", site)

    def _report(self, cut: Cut) -> Finding:
        name = owner(cut.loss, "backward", "the loss")
        effect = "`backward()` raises an error" if cut.raises else "`backward()` reaches no parameter"
        text = "`{how}` cuts `{name}` off from the model: " if cut.how else "`{name}` is recreated without its graph: "
        return self.finding(
            cut.site,
            message(text + effect, name=name, how=cut.how),
            help="compute the loss from the model's output with torch operations only",
            trail=(
                Step(cut.site, "the graph is lost here"),
                Step(cut.backward, sentence("`{name}.backward()` is called here", name=name)),
            ),
        )

    def _lost(self, event: ParameterCut) -> Finding:
        name = owner(event.text, event.how, "the parameter")
        text = "`{how}` cuts `{name}` off from the loss: it never gets a gradient"
        return self.finding(
            event.site,
            message(text, name=name, how=event.how),
            help="compute with the parameter itself, and convert it to a number only for logging",
            trail=[Step(event.backward, "`backward()` is called on the loss here")]
            if event.backward is not None
            else [],
            cause=LOST + event.attribute,
        )
