"""TDR301: layers in a Python list are not registered."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.edits import Figure
from torch_doctor.rule import Evidence, Finding, Fix, Level, Rule
from torch_doctor.trace import Meant
from torch_doctor_rules.judging.plain_containers import attribute, filling, hidden, missing, reached, registered
from torch_doctor_rules.judging.wording import message

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Trace


class ModulesInPlainContainer(Rule):
    """Layers are stored in a Python list, dict, tuple or set, so the module does not register them.

    ## Why is this bad?
    A module registers layers that are assigned to an attribute, but does not search containers. Layers in a list are
    missing from `parameters()`, so no optimizer trains them. They are also missing from `.to()`, `train()`, `eval()`
    and every checkpoint. They still run in `forward`, so no error is raised until the model is on a GPU.

    ## Example
    ```python
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = [nn.Linear(4, 4) for _ in range(3)]
            self.head = nn.Linear(4, 1)

        def forward(self, x):
            for layer in self.layers:
                x = torch.relu(layer(x))
            return self.head(x)


    print(Net()(torch.randn(2, 4)).shape)
    ```

    ## Use instead
    ```diff
             super().__init__()
    -        self.layers = [nn.Linear(4, 4) for _ in range(3)]
    +        self.layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(3)])
             self.head = nn.Linear(4, 1)
    ```

    ## How the probe confirms it
    It compares the modules that ran with those that `named_modules()` of the root module lists.

    ## When it is not reported
    - The layers are registered in another way (`ModuleList` or `Sequential` created from the list, `add_module`,
      `setattr`), or may be, since it cannot be followed which layers a `ModuleList` gets.
    - They have nothing to train and no mode.
    - The owner is not a module.
    - They are passed in one by one, as is done to keep a frozen network unregistered on purpose.
    - It is a list of one layer or model that an optimizer updates: that, too, is kept unregistered on purpose.

    ## References
    - https://docs.pytorch.org/docs/stable/generated/torch.nn.ModuleList.html
    - https://docs.pytorch.org/docs/stable/generated/torch.nn.ModuleDict.html
    - https://docs.pytorch.org/docs/stable/notes/modules.html
    """

    code = "TDR301"
    name = "modules-in-plain-container"
    level = Level.ERROR
    witness = "SP"
    voided_by = frozenset({"bases"})
    fix = Fix.SAFE
    fix_changes = frozenset({Figure.OUTPUTS, Figure.GRADIENTS, Figure.UPDATES, Figure.STATE})
    meant = Meant.REGISTERED

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Every plain container that is the only holder of layers."""
        for held in hidden(trace, parameters=False):
            kind = "nn.ModuleDict" if held.container == "dict" else "nn.ModuleList"
            text = f"layers in the Python {held.container} `{{name}}` are not registered: they are not trained, moved or saved"
            yield self.finding(
                held.site,
                message(text, name=attribute(held)),
                help=f"make it an `{kind}`",
                trail=filling(held, "layers"),
                edits=registered(trace, held, "Module"),
            )

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Whether the container was filled, and nothing in it is lost."""
        return reached(trace, finding)

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """How much of the model is in it."""
        return missing(trace, finding)
