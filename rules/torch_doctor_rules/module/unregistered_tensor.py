"""TDR303: a tensor used in `forward` is neither a parameter nor a buffer."""

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
    """A tensor that `forward` uses is neither a parameter nor a buffer of its module.

    ## Why is this bad?
    A module registers parameters, buffers and submodules. A plain tensor attribute is none of them. `.to(device)` does
    not move it, so `forward` fails on a GPU. `state_dict()` does not include it, so it is lost when a checkpoint is
    loaded. A tensor with `requires_grad=True` is missing from `parameters()`, so it is never trained.

    ## Example
    ```python
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
    ```diff
             super().__init__()
    -        self.mean = torch.tensor([0.5, 0.4, 0.3])
    +        self.register_buffer("mean", torch.tensor([0.5, 0.4, 0.3]))
             self.layer = nn.Linear(3, 1)
    ```

    ## Fix safety
    The fix registers the tensor as a buffer. This adds an entry to `state_dict()`, so existing checkpoints load only
    with `strict=False`. If the tensor can be recomputed, pass `persistent=False`. A tensor that requires gradients
    becomes a parameter, unless an optimizer may get it in addition to those of its module, and would then have it
    twice.

    ## How the probe confirms it
    In the model's first forward pass, it tracks which unregistered tensors of its modules are combined with other
    tensors. It counts the elements that are not in any `state_dict()`.

    ## When it is not reported
    - `forward` moves the tensor itself or creates it again.
    - The attribute is assigned from outside of the class.
    - The constructor gets the tensor as an argument, or puts it on a device.
    - The tensor is a single number, an index or empty.
    - `forward` does not use it.
    - The module defines how it is moved.

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
                text = "`{name}` requires gradients, but is not a parameter: it is not trained, moved or saved"
                how = f"make it a parameter: `self.{event.name} = nn.Parameter(...)`"
            else:
                text = "`{name}` is used in `forward`, but is not a buffer: it is not moved or saved"
                how = f'register it as a buffer: `self.register_buffer("{event.name}", ...)`'
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
            text = f"{count(event.elements, 'element')} used in `forward`, but missing from `state_dict()`"
            yield fact(text, event.elements, "numbers", event)
            return
        if registered := counted(trace, finding.site, REGISTERED):
            yield fact(f"{count(registered, 'element')} of it registered when the module ran", registered, "numbers")
        elif idle := counted(trace, finding.site, NOT_USED):
            yield fact(f"no operation in `forward` uses any of its {count(idle, 'element')}", idle, "numbers")


def _edits(trace: Trace, event: PlainTensorUsed) -> list[Buffer | Wrap]:
    """A buffer; what gathers gradients as a parameter, unless an optimizer may be given it beside its module's own."""
    if not event.trained:
        return [Buffer(event.site, event.name)]
    family = trace.view(Family)
    beside = (built for built in trace.of(OptimizerBuilt) if not built.whole and built.modules)
    if any(family.related(built.modules, (event.owner,)) for built in beside):
        return []
    return [Wrap(event.site, "$torch.nn.Parameter({})")]
