"""TDR303: a tensor of a module that is no parameter and no buffer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.edits import Buffer, Figure, Wrap
from torch_doctor.rule import Evidence, Finding, Fix, Level, Rule, Step
from torch_doctor.trace import OptimizerBuilt, PlainTensorUsed, Trace, claims
from torch_doctor_rules.judging.evidence import at, count, counted, fact
from torch_doctor_rules.judging.family import Family
from torch_doctor_rules.judging.sites import first_per_site
from torch_doctor_rules.judging.wording import message

if TYPE_CHECKING:
    from collections.abc import Iterator

NOT_USED = claims.PLAIN_TENSORS_UNUSED
REGISTERED = claims.TENSORS_REGISTERED


class UnregisteredTensor(Rule):
    """A tensor that `forward` needs is a plain attribute of its module.

    ## Why is this bad?
    A module registers parameters, buffers and other modules. A plain tensor is none of them: `.to(device)` leaves it where
    it is, so that `forward` fails on a GPU; `state_dict()` leaves it out, so that a checkpoint comes back without it; and
    one with `requires_grad=True` is in no `parameters()`, so that nobody trains it.

    ## Example
    ```python
    import torch
    from torch import nn


    class Normalised(nn.Module):
        def __init__(self):
            super().__init__()
            self.mean = torch.tensor([0.5, 0.4, 0.3])
            self.layer = nn.Linear(3, 1)

        def forward(self, x):
            return self.layer(x - self.mean)


    print(Normalised()(torch.randn(2, 3)).shape)
    ```

    ## Use instead
    ```python
    import torch
    from torch import nn


    class Normalised(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("mean", torch.tensor([0.5, 0.4, 0.3]))
            self.layer = nn.Linear(3, 1)

        def forward(self, x):
            return self.layer(x - self.mean)


    print(Normalised()(torch.randn(2, 3)).shape)
    ```

    ## Fix safety
    The fix registers the tensor as a buffer. The `state_dict()` has one more entry then, so that checkpoints of before load only
    with `strict=False`; write `persistent=False` where the tensor can be computed anew. What gathers gradients
    becomes a parameter, unless an optimizer may be given it beside those of its module, and would have it twice.

    ## How the probe confirms it
    In the model's first forward it follows the tensors that its modules keep and have not registered: which of them are
    combined with others. It counts the numbers that are in no `state_dict()`.

    ## When it is not reported
    When `forward` moves the tensor itself or makes it anew, when somebody else assigns the attribute, when the constructor
    is given it or puts it on a device, for single numbers, indices and empty tensors, for what `forward` does not use, and
    for modules that define how they move.

    ## References
    - https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.register_buffer
    - https://docs.pytorch.org/docs/stable/notes/modules.html#module-state
    """

    code = "TDR303"
    name = "unregistered-tensor"
    level = Level.WARNING
    witness = "SP"
    voided_by = frozenset({"bases"})
    fix = Fix.UNSAFE
    fix_changes = frozenset({Figure.GRADIENTS, Figure.UPDATES, Figure.STATE})
    only_confirms = True

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Every such attribute."""
        for event in first_per_site(trace.of(PlainTensorUsed)):
            if event.trained:
                text = "`{name}` gathers gradients and is no parameter: not trained, not moved, not saved"
                how = f"make it a parameter: `self.{event.name} = nn.Parameter(...)`"
            else:
                text = "`{name}` is used in `forward` and is no buffer: not moved, not saved"
                how = f'register it: `self.register_buffer("{event.name}", ...)`'
            yield self.finding(
                event.site,
                message(text, name=f"self.{event.name}"),
                help=how,
                trail=[Step(event.used_at, f"`{event.owner_class}` uses it here")],
                edits=_edits(trace, event),
            )

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Whether the tensor was there when its module ran, and was registered or not used."""
        return any(counted(trace, finding.site, claim) for claim in (NOT_USED, REGISTERED))

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """How many numbers it has, or what else became of it."""
        for event in at(trace, finding.site, PlainTensorUsed)[:1]:
            text = f"{count(event.elements, 'number')} that `forward` uses are in no `state_dict()`"
            yield fact(text, event.elements, "numbers", event)
            return
        if registered := counted(trace, finding.site, REGISTERED):
            yield fact(
                f"{count(registered, 'number')} of it are registered when its module runs", registered, "numbers"
            )
        elif idle := counted(trace, finding.site, NOT_USED):
            yield fact(f"no operation of `forward` takes any of its {count(idle, 'number')}", idle, "numbers")


def _edits(trace: Trace, event: PlainTensorUsed) -> list[Buffer | Wrap]:
    """A buffer; what gathers gradients as a parameter, unless an optimizer may be given it beside its module's own."""
    if not event.trained:
        return [Buffer(event.site, event.name)]
    family = trace.view(Family)
    beside = (built for built in trace.of(OptimizerBuilt) if not built.whole and built.modules)
    if any(family.related(built.modules, (event.owner,)) for built in beside):
        return []
    return [Wrap(event.site, "$torch.nn.Parameter({})")]
