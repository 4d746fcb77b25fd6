"""TDR117: an attribute that should be `requires_grad` is misspelled or set on a module."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.edits import Ask, Attribute, Figure
from torch_doctor.rule import Evidence, Finding, Fix, Level, Rule
from torch_doctor.trace import GradFlagSet, Trace, claims
from torch_doctor_rules.judging.evidence import at, count, counted, fact
from torch_doctor_rules.judging.sites import first_per_site
from torch_doctor_rules.judging.wording import message, owner, sentence

if TYPE_CHECKING:
    from collections.abc import Iterator

MEANT = "requires_grad"
ALIKE = 0.8
"""How alike two words are where one is the other misspelt: `require_gradient` is 0.83, `retains_grad` 0.72."""
EFFECTS = {False: "it freezes nothing", True: "it enables no gradients", None: "it has no effect"}
OTHER = claims.FLAG_READ


class RequiresGradTypo(Rule):
    """An attribute that looks like `requires_grad` is set, but torch does not read it.

    ## Why is this bad?
    Python lets any attribute be set on a tensor or a module. `param.require_grad = False` creates a new attribute that
    nothing reads, and `model.backbone.requires_grad = False` sets one on the module, not on its parameters. Parameters
    that should be frozen are trained, or parameters that should be trained stay frozen, and no error is raised.

    ## Example
    ```python
    encoder, head = nn.Linear(4, 8), nn.Linear(8, 1)
    for param in encoder.parameters():
        param.require_grad = False
    optimizer = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=0.1)
    for _ in range(4):
        optimizer.zero_grad()
        nn.functional.mse_loss(head(encoder(torch.randn(16, 4))), torch.randn(16, 1)).backward()
        optimizer.step()
    ```

    ## Use instead
    ```diff
     for param in encoder.parameters():
    -    param.require_grad = False
    -optimizer = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=0.1)
    +    param.requires_grad = False
    +optimizer = torch.optim.SGD(head.parameters(), lr=0.1)
     for _ in range(4):
    ```

    ## How the probe confirms it
    The line runs, its target is a tensor or a module, and torch has no such attribute there.

    ## When it is not reported
    - The attribute is the project's own: a class defines it, sets it on `self`, or received it when the module was
      created.
    - It is unknown whether the object is a tensor or a module.
    - `False` is set on a tensor that records no gradients anyway, such as one created by `torch.zeros`.

    ## References
    - https://docs.pytorch.org/docs/stable/generated/torch.Tensor.requires_grad.html
    - https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.requires_grad_
    """

    code = "TDR117"
    name = "requires-grad-typo"
    level = Level.ERROR
    witness = "SP"
    fix = Fix.SAFE
    fix_changes = frozenset({Figure.GRADIENTS, Figure.UPDATES})

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Every assignment of such an attribute."""
        for event in first_per_site(trace.of(GradFlagSet)):
            if _is_meant(event) and not trace.asked(event):
                text = "`{name}` sets an attribute that torch does not read: " + EFFECTS[event.value]
                yield self.finding(
                    event.site,
                    message(text, name=event.name),
                    help=_remedy(event),
                    edits=[Ask(event.site, "requires_grad_") if event.of == "module" else Attribute(event.site, MEANT)],
                )

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Whether the line ran, and sets an attribute of the script's own, or nothing that would be another by its right name."""
        return bool(at(trace, finding.site, GradFlagSet) or counted(trace, finding.site, OTHER))

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """How often the line ran."""
        events = at(trace, finding.site, GradFlagSet)
        if events:
            times = count(len(events), "time")
            yield fact(f"set {times}, but `requires_grad` did not change", len(events), "times", events[0])
        elif often := counted(trace, finding.site, OTHER):
            yield fact(f"set {count(often, 'time')}, on an object that reads it", often, "times")


def _is_meant(event: GradFlagSet) -> bool:
    """Whether the attribute can only be meant to be `requires_grad`, and would change something by that name."""
    if event.value is False and event.records is False:
        return False
    if event.attribute == MEANT:
        return event.of == "module"
    from difflib import SequenceMatcher  # noqa: PLC0415 - only where an attribute is misspelt

    return SequenceMatcher(None, event.attribute, MEANT).ratio() >= ALIKE


def _remedy(event: GradFlagSet) -> str:
    if event.of == "module":
        value = "" if event.value is None else str(event.value)
        module = owner(event.name, event.attribute, "the module")
        return sentence(f"call `{{module}}.requires_grad_({value})`, which sets it on every parameter", module=module)
    return "set `requires_grad` instead"
