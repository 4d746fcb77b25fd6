"""TDR111: a method is named but not called."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.edits import Figure, Wrap
from torch_doctor.rule import Evidence, Finding, Fix, Level, Rule
from torch_doctor.trace import Meant, NotCalled, Trace, claims
from torch_doctor_rules.judging.evidence import at, count, counted, fact
from torch_doctor_rules.judging.precedence import CONTEXTS
from torch_doctor_rules.judging.sites import first_per_site
from torch_doctor_rules.judging.wording import message

if TYPE_CHECKING:
    from collections.abc import Iterator

OTHER = claims.NAMED_NO_METHOD
CONSEQUENCES = {
    ("optimizer", "step"): "no parameter is updated",
    ("scheduler", "step"): "the learning rate never changes",
    ("scaler", "step"): "no parameter is updated",
    ("scaler", "update"): "the loss scale never adapts",
    ("scaler", "unscale_"): "the gradients stay scaled",
    ("optimizer", "zero_grad"): "gradients accumulate over all batches",
    ("module", "zero_grad"): "gradients accumulate over all batches",
    ("tensor", "backward"): "no gradient is computed",
    ("module", "eval"): "the model stays in training mode",
    ("module", "train"): "the model stays in evaluation mode",
}

METHODS = frozenset(("step", "zero_grad", "backward", "eval", "train", "update", "unscale_"))
"""The methods whose missing call is reported."""


class MethodNotCalled(Rule):
    """A method of the training step, such as `optimizer.step`, is named but never called.

    ## Why is this bad?
    `optimizer.step` without parentheses is an expression: Python looks up the method and discards it. Nothing is
    updated, cleared or switched, and no error is raised. A context manager such as `torch.no_grad` without parentheses
    is a class, not a context: the block raises an error, or runs without it.

    ## Example
    ```python
    for x, y in loader:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step
    ```

    ## Use instead
    ```diff
         loss.backward()
    -    optimizer.step
    +    optimizer.step()
    ```

    ## How the probe confirms it
    The line is executed, but the method does not run.

    ## When it is not reported
    - The expression is used: passed on, assigned or compared.
    - The object is not known to be an optimizer, a scheduler, a scaler, a module, a tensor or torch itself.

    Consequences of the missing call are not reported separately; bugs that it hides are.

    ## References
    - https://docs.pytorch.org/docs/stable/optim.html#taking-an-optimization-step
    - https://docs.pytorch.org/docs/stable/generated/torch.no_grad.html
    """

    code = "TDR111"
    name = "method-not-called"
    level = Level.ERROR
    witness = "SP"
    fix = Fix.SAFE
    fix_changes = frozenset({Figure.OUTPUTS, Figure.GRADIENTS, Figure.UPDATES, Figure.RATES, Figure.HERE})
    meant = Meant.CALLED

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Every such expression."""
        for event in first_per_site(trace.of(NotCalled)):
            if event.of == "torch" and event.method in CONTEXTS:
                text = "`{name}` is missing its parentheses: the block runs without it, or fails"
            elif event.method in METHODS:
                text = "`{name}` is missing its parentheses: " + CONSEQUENCES.get(
                    (event.of, event.method), "nothing happens"
                )
            else:
                continue
            yield self.finding(
                event.site, message(text, name=event.name), help="add the parentheses", edits=[Wrap(event.site, "{}()")]
            )

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Return whether the line ran, and the name was not such a method."""
        return bool(counted(trace, finding.site, OTHER))

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """How often the line ran."""
        named = at(trace, finding.site, NotCalled)
        if named:
            yield fact(f"the line ran {count(len(named), 'time')} and called nothing", len(named), "times")
        elif often := counted(trace, finding.site, OTHER):
            yield fact(f"the line ran {count(often, 'time')}, and the name is not such a method", often, "times")
