"""TDR126: an adapter does not train, or the weights that it adapts are trained as well."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.rule import Evidence, Finding, Level, Rule, Step
from torch_doctor.trace import AdapterTrained, Stepped
from torch_doctor_rules.judging.adapters import both_takers, takers, told
from torch_doctor_rules.judging.evidence import count, fact
from torch_doctor_rules.judging.sites import first_per_site
from torch_doctor_rules.judging.subjects import ADAPTERS
from torch_doctor_rules.judging.wording import message, named, owner, sentence

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Trace

_OFF = {
    "disabled": (
        "the adapter of `{name}` is disabled during training: it learns nothing",
        "it is disabled here",
    ),
    "merged": ("the adapter of `{name}` is merged during training: it learns nothing", "it is merged here"),
    "skipped": ("`{name}` skips its adapter during training: the adapter learns nothing", ""),
}
_FROZEN = "the adapter of `{name}` is frozen during training: it learns nothing"


class AdapterWiring(Rule):
    """An adapter is frozen or disabled during training, or the weights that it adapts are trained as well.

    ## Why is this bad?
    An adapter such as LoRA adds a few weights to large ones. The large weights stay fixed; only the adapter is trained
    and saved. If the large weights are not frozen, this is full fine-tuning at a learning rate that is ten times too
    high for it, and the saved adapter belongs to weights that nobody has. If the adapter is frozen, disabled or
    merged, it learns nothing. With a new head next to it, the loss still falls.

    ## Example
    ```python
    class LoRALinear(torch.nn.Module):
        def __init__(self, base):
            super().__init__()
            self.base, self.down, self.up = base, torch.nn.Linear(16, 4), torch.nn.Linear(4, 8)
            torch.nn.init.zeros_(self.up.weight)

        def forward(self, x):
            return self.base(x) + self.up(self.down(x))


    pretrained = torch.nn.Linear(16, 8)
    model = LoRALinear(pretrained)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for _ in range(4):
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(torch.randn(32, 16)), torch.randn(32, 8)).backward()
        optimizer.step()
    ```

    ## Use instead
    ```diff
    -pretrained = torch.nn.Linear(16, 8)
    +pretrained = torch.nn.Linear(16, 8).requires_grad_(False)
     model = LoRALinear(pretrained)
    ```

    ## How the probe confirms it
    The probe finds the adapters of peft and loralib, and modules that wrap a layer and add the product of two small
    matrices, one of which starts at zero. It compares both kinds of weights before and after the steps.

    ## When it is not reported
    - Only part of the adapted model is trained (norms, biases, embeddings, a head).
    - One layer has several adapters, which may share it on purpose.
    - The adapter is trained in another phase of the script, or is frozen by itself.
    - The optimizer has no parameter of the adapter (TDR114).
    - The adapter is from a library other than peft and loralib, and the source does not show it.

    ## References
    - https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.requires_grad_
    - https://docs.pytorch.org/docs/stable/notes/autograd.html#setting-requires-grad
    """

    code = "TDR126"
    name = "adapter-wiring"
    level = Level.ERROR
    witness = "SP"
    needs = frozenset({"adapters"})
    voided_by = frozenset({"inside"})
    subject = ADAPTERS
    shown_by = "step of a model with this adapter"
    explained_by = frozenset({"TDR130"})

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Yield every adapter that never trains, and every optimizer that also trains adapted weights."""
        yield from first_per_site(self._found(trace))

    def _found(self, trace: Trace) -> Iterator[Finding]:
        seen = trace.of(AdapterTrained)
        for event in seen:
            others = [other for other in seen if other.adapter == event.adapter]
            if not any(other.own_trains is not False and not other.off for other in others):
                yield from self._idle(trace, event)
            elif all(other.base_trains and other.own_trains and not other.off for other in others):
                yield from self._both(trace, event)

    def _idle(self, trace: Trace, event: AdapterTrained) -> Iterator[Finding]:
        """Yield an adapter that is off, or frozen together with the module that it was added to."""
        refused = trace.observed and not event.steps  # `backward()` raised
        if not event.handed and not refused and not takers(trace, event.own):
            return
        name = named(event.class_name.removeprefix("peft."), "the adapter")
        cause = ""
        if event.off:
            text, note = _OFF[event.off]
            trail = [Step(event.off_at, note)] if event.off_at is not None else []
            help_ = "enable the adapter in every training forward pass, and disable it only for comparison"
        elif event.since is not None or trace.observed:
            text, help_ = _FROZEN, "freeze the base before you create the adapter, or load the adapter as trainable"
            cause = "frozen"
            trail = (
                [Step(event.since, "all its parameters are frozen here")]
                if event.since not in (None, event.site)
                else []
            )
        else:
            return
        yield self.finding(event.site, message(text, name=name), help=help_, trail=trail, cause=cause)

    def _both(self, trace: Trace, event: AdapterTrained) -> Iterator[Finding]:
        """Yield the optimizers that also train the adapted weights."""
        for built in both_takers(trace, event):
            if built.optimizer not in event.takers:
                continue
            steps = (step.name for step in trace.of(Stepped) if step.optimizer == built.optimizer)
            name = built.name or owner(next(steps, ""), "step", "the optimizer")
            adapter = event.class_name.removeprefix("peft.")
            text = "`{name}` also trains the weights that `{adapter}` adapts: they should stay frozen"
            if adapter.startswith("loralib."):
                text = "`{name}` also trains the weights outside `loralib` layers: they should stay frozen"
            yield self.finding(
                built.site,
                message(text, name=name, adapter=adapter),
                help="freeze the adapted weights before you create the optimizer",
                trail=[
                    Step(event.site, sentence("`{adapter}` is added to them here", adapter=adapter)),
                    *([Step(event.since, "the entire model is unfrozen here")] if event.since else []),
                ],
            )

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Whether the adapter alone moved."""
        events = told(trace, finding)
        if events and all(event.own_moved and not event.base_moved for event in events):
            return True
        return "the probe run does not show what happened to the adapter" if events else False

    def speaks_alone(self, trace: Trace, finding: Finding) -> bool:
        """Return whether no adapter is from loralib: only the source shows that the other layers' weights were loaded."""
        return not any(event.class_name.startswith("loralib.") for event in told(trace, finding))

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """How many tensors of either kind moved."""
        events = told(trace, finding)
        if events:
            own, base = sum(event.own_moved for event in events), sum(event.base_moved for event in events)
            tensors = sum(event.own_tensors for event in events), sum(event.base_tensors for event in events)
            text = f"{own} of {count(tensors[0], 'adapter tensor')} and {base} of {tensors[1]} others changed"
            if not any(event.steps for event in events):
                text = "`backward()` raises an error: the loss depends on no weight of the model"
            yield fact(text, base, "tensors", events[0])
