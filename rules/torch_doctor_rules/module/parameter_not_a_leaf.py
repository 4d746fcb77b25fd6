"""TDR307: the result of moving a parameter is not a parameter."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.edits import Figure, Inward
from torch_doctor.rule import Evidence, Finding, Fix, Level, Rule
from torch_doctor.trace import ParameterMoved, Trace, claims
from torch_doctor_rules.judging.evidence import at, count, counted, fact
from torch_doctor_rules.judging.sites import first_per_site
from torch_doctor_rules.judging.wording import message

if TYPE_CHECKING:
    from collections.abc import Iterator


class ParameterNotALeaf(Rule):
    """`nn.Parameter(...).to(device)` is assigned to an attribute of a module, and is not a parameter.

    ## Why is this bad?
    If the move changes the device, it returns a new tensor computed from the parameter. That tensor is not an
    `nn.Parameter`: the module does not register it, no optimizer trains it, and no checkpoint includes it. On the CPU,
    where the move has no effect, everything works.

    ## Example
    ```python
    device = "cuda" if torch.cuda.is_available() else "cpu"


    class Scale(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(4)).to(device)

        def forward(self, x):
            return x * self.weight


    print(Scale()(torch.randn(2, 4, device=device)).shape)
    ```

    ## Use instead
    ```diff
             super().__init__()
    -        self.weight = nn.Parameter(torch.ones(4)).to(device)
    +        self.weight = nn.Parameter(torch.ones(4))
    ...
    -print(Scale()(torch.randn(2, 4, device=device)).shape)
    +print(Scale().to(device)(torch.randn(2, 4, device=device)).shape)
    ```

    ## Fix safety
    The fix moves the tensor before it becomes a parameter. The module then has an additional parameter, which is
    trained and saved. Existing checkpoints do not include it.

    ## How the probe confirms it
    On a GPU, or if the script runs on a simulated one, the attribute is a tensor computed from a parameter that is not
    stored anywhere.

    ## When it is not reported
    - If the tensor is moved before it becomes a parameter, or the module is moved as a whole.
    - If only the dtype changes.
    - If the parameter is not to be trained (`requires_grad=False`), or may not be: what it lacks then is only a name in
      checkpoints.

    ## References
    - https://docs.pytorch.org/docs/stable/generated/torch.nn.parameter.Parameter.html
    - https://docs.pytorch.org/docs/stable/generated/torch.Tensor.is_leaf.html
    """

    code = "TDR307"
    name = "parameter-not-a-leaf"
    level = Level.ERROR
    witness = "SP"
    voided_by = frozenset({"bases"})
    fix = Fix.UNSAFE
    fix_changes = frozenset({Figure.GRADIENTS, Figure.UPDATES, Figure.STATE})
    needs = frozenset({"device"})
    only_confirms = True

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Every such attribute."""
        for event in first_per_site(trace.of(ParameterMoved)):
            yield self.finding(
                event.site,
                message(
                    "`{name}` is moved after `nn.Parameter(...)`: it is no parameter and is never trained",
                    name=f"self.{event.name}",
                ),
                help="move the tensor before wrapping it in `nn.Parameter`, or move the whole module",
                edits=[Inward(event.site, "Parameter")],
            )

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """A run on the CPU shows nothing: there the move does nothing."""
        ran = counted(trace, finding.site, claims.KEPT_WITHOUT_GRAPH)
        return "on the CPU the move has no effect, so the attribute is a parameter" if ran else False

    def speaks_alone(self, trace: Trace, finding: Finding) -> bool:
        """A constructor that keeps a copy, and the parameter nowhere, has lost it."""
        return any(event.owner for event in at(trace, finding.site, ParameterMoved))

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """How many numbers nobody trains."""
        for event in at(trace, finding.site, ParameterMoved)[:1]:
            text = f"{count(event.elements, 'element')} of `self.{event.name}` missing from `parameters()` on a GPU"
            yield fact(text, event.elements, "elements", event)
