"""TDR311: a list contains one layer object several times."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from torch_doctor.edits import Figure, Repeat
from torch_doctor.rule import Evidence, Finding, Fix, Level, Rule, Step, same_place
from torch_doctor.trace import ModuleBuilt, Repeated, Trace
from torch_doctor_rules.judging.evidence import at, count, fact
from torch_doctor_rules.judging.sites import first_per_site
from torch_doctor_rules.judging.wording import message

if TYPE_CHECKING:
    from collections.abc import Iterator

ON_PURPOSE = re.compile(r"shar|tied|common|recur", re.IGNORECASE)
"""Names that say that a layer is meant to be one."""


class SharedLayerObject(Rule):
    """A list of layers contains the same layer object several times.

    ## Why is this bad?
    `[nn.Linear(8, 8)] * 4` creates one layer and a list of four references to it. `[layer for _ in range(4)]` does the
    same. The network looks four layers deep, but has the weights of one layer, which is applied four times and gets the
    gradients of all four positions.

    ## Example
    ```python
    class Net(nn.Module):
        def __init__(self, depth=4):
            super().__init__()
            self.layers = nn.ModuleList([nn.Linear(8, 8)] * depth)

        def forward(self, x):
            for layer in self.layers:
                x = torch.relu(layer(x))
            return x


    print(Net()(torch.randn(2, 8)).shape)
    ```

    ## Use instead
    ```diff
             super().__init__()
    -        self.layers = nn.ModuleList([nn.Linear(8, 8)] * depth)
    +        self.layers = nn.ModuleList([nn.Linear(8, 8) for _ in range(depth)])
    ```

    ## Fix safety
    The fix creates a layer for each entry, or copies a named layer with `copy.deepcopy`. The model then has more
    parameters, so existing checkpoints do not match. Copies start with the same weights, as in torch's own encoders.

    ## How the probe confirms it
    The list in the created module contains one object several times. The probe counts the missing parameters.

    ## When it is not reported
    - The layer has nothing to train (activations, pooling, dropout).
    - The list does not become layers of a module.
    - The layers are copied (`copy.deepcopy`).
    - Sharing is intended: it is one branch of a choice, a name says so, or `forward` applies one layer in a loop.

    ## References
    - https://docs.pytorch.org/docs/stable/generated/torch.nn.ModuleList.html
    - https://docs.python.org/3/faq/programming.html#how-do-i-create-a-multidimensional-list
    """

    code = "TDR311"
    name = "shared-layer-object"
    level = Level.ERROR
    witness = "SP"
    fix = Fix.UNSAFE
    fix_changes = frozenset({Figure.OUTPUTS, Figure.GRADIENTS, Figure.UPDATES, Figure.STATE})

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Every expression that repeats a layer with parameters, and becomes layers."""
        for event in first_per_site(e for e in trace.of(Repeated) if _wrong(e)):
            often = f"{event.times} entries are" if event.times else "all entries are"
            text = f"{often} the same `{{name}}` object: a single layer is applied several times"
            trail = [] if event.built_at is None else [Step(event.built_at, "the only layer is created here")]
            if event.registered_at is not None:
                trail.append(Step(event.registered_at, "the list is registered as layers here"))
            yield self.finding(
                event.site,
                message(text, name=event.class_name.rpartition(".")[2]),
                help=f"create a layer for each entry: `[{event.class_name.rpartition('.')[2]}(...) for ...]`",
                trail=[step for step in trail if not same_place(step.site, event.site)],
                edits=[Repeat(event.site)],
            )

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Whether the list was made; where its layers are several, or one, it is not a list of one object."""
        return (
            "the probe run does not show whether the entries are one object"
            if at(trace, finding.site, ModuleBuilt)
            else False
        )

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """How many parameters there are, and how many there should be."""
        for event in at(trace, finding.site, Repeated)[:1]:
            meant = event.elements * event.times
            text = (
                f"{event.times} entries are the same object: {count(event.elements, 'parameter')} instead of {meant:,}"
            )
            yield fact(text, event.times, "entries", event)


def _wrong(event: Repeated) -> bool:
    shared = event.chosen or ON_PURPOSE.search(event.name) is not None
    return event.trainable is True and event.registered_at is not None and not shared
