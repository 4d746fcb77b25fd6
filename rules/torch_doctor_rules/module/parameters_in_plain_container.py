"""TDR308: parameters in a Python list are not registered."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.edits import Figure
from torch_doctor.rule import Evidence, Finding, Fix, Level, Rule
from torch_doctor_rules.judging.plain_containers import attribute, filling, hidden, missing, reached, registered
from torch_doctor_rules.judging.wording import message

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Trace


class ParametersInPlainContainer(Rule):
    """Parameters are stored in a Python list or dict, so the module does not register them.

    ## Why is this bad?
    A module registers parameters that are assigned to an attribute, but does not search containers. Parameters in a
    list are missing from `parameters()`, so no optimizer trains them. They are also missing from `.to()` and every
    checkpoint.

    ## Example
    ```python
    class Mixture(nn.Module):
        def __init__(self):
            super().__init__()
            self.scales = [nn.Parameter(torch.ones(4)) for _ in range(2)]
            self.head = nn.Linear(4, 1)

        def forward(self, x):
            for scale in self.scales:
                x = torch.tanh(x * scale)
            return self.head(x)


    print(Mixture()(torch.randn(2, 4)).shape)
    ```

    ## Use instead
    ```diff
             super().__init__()
    -        self.scales = [nn.Parameter(torch.ones(4)) for _ in range(2)]
    +        self.scales = nn.ParameterList([nn.Parameter(torch.ones(4)) for _ in range(2)])
             self.head = nn.Linear(4, 1)
    ```

    ## How the probe confirms it
    It compares the parameters that the loss depends on with those that `named_parameters()` lists.

    ## When it is not reported
    - The parameters are registered in another way (`register_parameter`, an attribute, a `ParameterList` created from
      the list).
    - None of them is trained.
    - The owner is not a module.
    - They are passed in from outside.

    ## References
    - https://docs.pytorch.org/docs/stable/generated/torch.nn.ParameterList.html
    - https://docs.pytorch.org/docs/stable/generated/torch.nn.ParameterDict.html
    - https://docs.pytorch.org/docs/stable/notes/modules.html
    """

    code = "TDR308"
    name = "parameters-in-plain-container"
    level = Level.ERROR
    witness = "SP"
    voided_by = frozenset({"bases"})
    fix = Fix.SAFE
    fix_changes = frozenset({Figure.GRADIENTS, Figure.UPDATES, Figure.STATE})

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Every plain container that is the only holder of parameters."""
        for held in hidden(trace, parameters=True):
            kind = "nn.ParameterDict" if held.container == "dict" else "nn.ParameterList"
            text = f"parameters in the Python {held.container} `{{name}}` are not registered: they are not trained or saved"
            yield self.finding(
                held.site,
                message(text, name=attribute(held)),
                help=f"make it an `{kind}`",
                trail=filling(held, "parameters"),
                edits=registered(trace, held, "Parameter"),
            )

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Whether the container was filled, and nothing in it is lost."""
        return reached(trace, finding)

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """How much of the model is in it."""
        return missing(trace, finding)
