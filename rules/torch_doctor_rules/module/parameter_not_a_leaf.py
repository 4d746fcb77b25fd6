"""TDR307: a parameter that is moved after it was made is a parameter no more."""

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
    """`nn.Parameter(...).to(device)` is assigned to an attribute of a module.

    ## Why is this bad?
    A move that changes something gives a new tensor, computed from the parameter. It is no `nn.Parameter`: the module does
    not register it, no optimizer trains it and no checkpoint has it. On the CPU, where the move does nothing, all is well.

    ## Example
    ```python
    import torch
    from torch import nn

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
    ```python
    import torch
    from torch import nn

    device = "cuda" if torch.cuda.is_available() else "cpu"


    class Scale(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(4))

        def forward(self, x):
            return x * self.weight


    print(Scale().to(device)(torch.randn(2, 4, device=device)).shape)
    ```

    ## Fix safety
    The fix moves the tensor before it becomes a parameter. The module then has a parameter more, which an optimizer trains
    and a checkpoint holds: checkpoints written before lack it.

    ## How the probe confirms it
    Where there is a GPU, or the script believes it, the attribute is a tensor computed from a parameter that nobody holds.

    ## When it is not reported
    When the tensor is moved before it becomes a parameter, when the module is moved as a whole, and when only the dtype
    changes.

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
                message("`{name}` is moved after it was made: no parameter, never trained", name=f"self.{event.name}"),
                help="move the tensor before `nn.Parameter` gets it, or move the module as a whole",
                edits=[Inward(event.site, "Parameter")],
            )

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """A run on the CPU shows nothing: there the move does nothing."""
        ran = counted(trace, finding.site, claims.KEPT_WITHOUT_GRAPH)
        return "on the CPU the move does nothing, and the attribute is a parameter" if ran else False

    def speaks_alone(self, trace: Trace, finding: Finding) -> bool:
        """A constructor that keeps a copy, and the parameter nowhere, has lost it."""
        return any(event.owner for event in at(trace, finding.site, ParameterMoved))

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """How many numbers nobody trains."""
        for event in at(trace, finding.site, ParameterMoved)[:1]:
            text = f"{count(event.elements, 'number')} of `self.{event.name}` are in no `parameters()` on a GPU"
            yield fact(text, event.elements, "numbers", event)
