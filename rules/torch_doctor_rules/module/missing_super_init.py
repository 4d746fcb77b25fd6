"""TDR302: the module's base is not initialised in time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.edits import Attribute, Figure, Initialise
from torch_doctor.rule import Evidence, Finding, Fix, Level, Rule, Step, same_place
from torch_doctor.trace import ModuleBuilt, Site, Trace
from torch_doctor_rules.judging.evidence import count, fact
from torch_doctor_rules.judging.wording import message

if TYPE_CHECKING:
    from collections.abc import Iterator

FORWARD = "name it `forward`"
NAMES = {"__init__": "name it `__init__`", "forward": FORWARD}
"""What to do with a method that is misspelt, by what it is meant as."""


class MissingSuperInit(Rule):
    """`super().__init__()` of a module is missing, misspelt or too late, or `__init__` or `forward` is misspelt.

    ## Why is this bad?
    `nn.Module.__init__` makes the registries for parameters, layers, buffers and hooks. Before it ran, assigning a
    layer raises `AttributeError`; a module that never runs it cannot be called, moved or saved. A constructor that is
    misspelt itself (`___init___`, `_init_`) never runs: Python takes the base's, and the module has no layers. So it is with
    `forward` (`foward`): the base's raises `NotImplementedError`.

    ## Example
    ```python
    import torch
    from torch import nn


    class Net(nn.Module):
        def __init__(self, width):
            self.hidden = nn.Linear(4, width)
            self.head = nn.Linear(width, 1)

        def forward(self, x):
            return self.head(torch.relu(self.hidden(x)))


    print(Net(8)(torch.randn(2, 4)).shape)
    ```

    ## Use instead
    ```python
    import torch
    from torch import nn


    class Net(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.hidden = nn.Linear(4, width)
            self.head = nn.Linear(width, 1)

        def forward(self, x):
            return self.head(torch.relu(self.hidden(x)))


    print(Net(8)(torch.randn(2, 4)).shape)
    ```

    ## How the probe confirms it
    The construction raises `AttributeError: cannot assign module before Module.__init__() call` at the first layer; where
    `forward` is misspelt, the call of the model fails.

    ## When it is not reported
    When only plain attributes come before the call, when the base is initialised by name (`nn.Module.__init__(self)`,
    `Base.__init__(self)`) or in the `__post_init__` of a dataclass, when the class is no module, when a base or a
    decorator of the class is out of sight, and for methods with a name like `forward` that any file of the project names.

    ## References
    - https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html
    - https://docs.pytorch.org/docs/stable/notes/modules.html
    """

    code = "TDR302"
    name = "missing-super-init"
    level = Level.ERROR
    witness = "SP"
    voided_by = frozenset({"bases"})
    fix = Fix.SAFE
    fix_changes = frozenset[Figure]()

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Every `__init__` that leaves its module without registries, or with them too late."""
        seen: set[Site] = set()
        for built in trace.of(ModuleBuilt):
            wrong = built.base_initialised is False or built.early_member is not None or built.misspelt
            if wrong and built.init_site is not None and built.init_site not in seen:
                seen.add(built.init_site)
                yield self._report(built, built.init_site)

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Whether such a module was built, and its base was initialised in time."""
        return bool(self._ready(trace, finding))

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """What the construction raised, or how many did not."""
        ready = self._ready(trace, finding)
        if ready:
            text = f"built {count(len(ready), 'time')}, and the base was ready before the first layer"
            yield fact(text, len(ready), "times", ready[0])
        elif trace.run is not None and trace.run.end.exception:
            said = trace.run.end.exception.splitlines()[0]
            what = "call" if finding.help == FORWARD else "construction"
            yield fact(f"the {what} raises {said}", said.partition(":")[0])

    def _ready(self, trace: Trace, finding: Finding) -> list[ModuleBuilt]:
        """What the finding's `__init__` built in the right order."""
        return [
            built
            for built in trace.of(ModuleBuilt)
            if built.init_site is not None
            and same_place(finding.site, built.init_site)
            and built.base_initialised is True
            and built.early_member is None
            and not built.misspelt
        ]

    def _report(self, built: ModuleBuilt, init: Site) -> Finding:
        if built.misspelt and built.meant == "forward":
            text = "`{name}` has `{method}` and no `forward`: calling it raises NotImplementedError"
        elif built.misspelt:
            text = "`{name}` is built without `{method}`, which Python never calls: it has none of its layers"
        elif built.base_initialised is False:
            text = "`{name}` is built without `super().__init__()`: it cannot hold layers or be called"
        else:
            text = "`{name}` gets a layer before `super().__init__()`: the assignment raises AttributeError"
        trail = [Step(built.site, f"`{built.class_name}` is built here")]
        if built.early_member is not None:
            trail.append(Step(built.early_member, "the first layer or parameter is assigned here"))
        return self.finding(
            init,
            message(text, name=built.init_class or built.class_name, method=built.misspelt),
            help=_help(built),
            trail=trail,
            edits=[Attribute(init, built.meant) if built.misspelt else Initialise(init)],
        )


def _help(built: ModuleBuilt) -> str:
    """What to write instead."""
    if built.misspelt:
        return NAMES[built.meant]
    if built.calls_super:
        return "write `super().__init__()` before the first layer: the `super` call in `__init__` does not get there"
    return "call `super().__init__()` first"
