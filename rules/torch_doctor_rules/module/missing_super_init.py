"""TDR302: `nn.Module.__init__` of a module does not run in time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.edits import Attribute, Figure, Initialise
from torch_doctor.rule import Evidence, Finding, Fix, Level, Rule, Step, same_place
from torch_doctor.trace import ModuleBuilt, Site, Trace
from torch_doctor_rules.judging.evidence import count, fact
from torch_doctor_rules.judging.wording import message

if TYPE_CHECKING:
    from collections.abc import Iterator

FORWARD = "rename it to `forward`"
NAMES = {"__init__": "rename it to `__init__`", "forward": FORWARD}
"""What to do with a method that is misspelt, by what it is meant as."""


class MissingSuperInit(Rule):
    """`super().__init__()` is missing, misspelt or too late, or `__init__` or `forward` is misspelt.

    ## Why is this bad?
    `nn.Module.__init__` creates the registries for parameters, layers, buffers and hooks. Before it has run, assigning
    a layer raises `AttributeError`. A module that never runs it cannot be called, moved or saved. A misspelt
    constructor (`___init___`, `_init_`) never runs: Python calls the one of the base class, and the module has no
    layers. If `forward` is misspelt (`foward`), the one of the base class raises `NotImplementedError`.

    ## Example
    ```python
    class Net(nn.Module):
        def __init__(self, width):
            self.hidden = nn.Linear(4, width)
            self.head = nn.Linear(width, 1)

        def forward(self, x):
            return self.head(torch.relu(self.hidden(x)))


    print(Net(8)(torch.randn(2, 4)).shape)
    ```

    ## Use instead
    ```diff
         def __init__(self, width):
    +        super().__init__()
             self.hidden = nn.Linear(4, width)
    ```

    ## How the probe confirms it
    Creating the module raises `AttributeError: cannot assign module before Module.__init__() call` at the first layer.
    If `forward` is misspelt, calling the model fails.

    ## When it is not reported
    - Only attributes that are not layers or parameters are assigned before the call.
    - The base class is initialized by name (`nn.Module.__init__(self)`, `Base.__init__(self)`) or in the
      `__post_init__` of a dataclass.
    - The class is not a module.
    - A base class or a decorator of the class is unresolved.
    - Any file of the project uses the name of the method that resembles `forward`.

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
            text = f"created {count(len(ready), 'time')}, and the base class was initialized before the first layer"
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
            text = "`{name}` defines `{method}`, but no `forward`: calling it raises NotImplementedError"
        elif built.misspelt:
            text = "`{name}` defines `{method}`, which Python never calls: its layers are never created"
        elif built.base_initialised is False:
            text = "`{name}` is created without `super().__init__()`: it cannot register layers or be called"
        else:
            text = "`{name}` assigns a layer before `super().__init__()`, which raises AttributeError"
        trail = [Step(built.site, f"`{built.class_name}` is created here")]
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
        return "call `super().__init__()` before the first layer: the `super` call in `__init__` does not run it"
    return "call `super().__init__()` before assigning layers"
