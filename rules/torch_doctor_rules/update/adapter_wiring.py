"""TDR126: an adapter that does not train, or what it adapts trains with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.rule import Evidence, Finding, Level, Rule, Step
from torch_doctor.trace import AdapterTrained, Stepped
from torch_doctor_rules.judging.adapters import takers, told
from torch_doctor_rules.judging.evidence import count, fact
from torch_doctor_rules.judging.sites import first_per_site
from torch_doctor_rules.judging.subjects import ADAPTERS
from torch_doctor_rules.judging.wording import message, named, owner, sentence

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Trace

_OFF = {
    "disabled": (
        "the adapter of `{name}` is disabled where the model trains: it learns nothing",
        "it is disabled here",
    ),
    "merged": ("the adapter of `{name}` is merged where the model trains: it learns nothing", "it is merged here"),
    "skipped": ("`{name}` skips its adapter where the model trains: it learns nothing", ""),
}
_FROZEN = "the adapter of `{name}` is frozen where the model trains: it learns nothing"


class AdapterWiring(Rule):
    """An adapter is frozen or switched off where the model trains, or what it adapts trains as well.

    ## Why is this bad?
    An adapter (LoRA, and others) is a few weights beside large ones: these stay as they are, those are trained and saved.
    Where the large ones are not frozen, this is full fine-tuning at a learning rate that is ten times too high for it, and
    the adapter that is saved belongs to weights that nobody has. Where the adapter is frozen, disabled or merged, nothing of
    it learns; with a new head beside it the loss falls all the same.

    ## Example
    ```python
    import torch


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
    ```python
    import torch


    class LoRALinear(torch.nn.Module):
        def __init__(self, base):
            super().__init__()
            self.base, self.down, self.up = base, torch.nn.Linear(16, 4), torch.nn.Linear(4, 8)
            torch.nn.init.zeros_(self.up.weight)

        def forward(self, x):
            return self.base(x) + self.up(self.down(x))


    pretrained = torch.nn.Linear(16, 8).requires_grad_(False)
    model = LoRALinear(pretrained)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for _ in range(4):
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(torch.randn(32, 16)), torch.randn(32, 8)).backward()
        optimizer.step()
    ```

    ## How the probe confirms it
    It finds the adapters of peft and loralib, and modules that are built around a layer and add to it the product of two
    small matrices, one of which begins at zero; and compares both kinds of weights before and after the steps.

    ## When it is not reported
    When only a part of what is adapted trains (norms, biases, embeddings, a head); for several adapters of one layer, which
    may share it on purpose; for an adapter that trains in another phase of the script, or is frozen by itself; where the
    optimizer has nothing of the adapter (TDR114 speaks); and for adapters of libraries other than peft and loralib that the
    source does not show.

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

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Every adapter that never trains, and every optimizer that moves what is adapted as well."""
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
        """It is off, or frozen with all that it was put into."""
        refused = trace.observed and not event.steps  # `backward()` raised
        if not event.handed and not refused and not takers(trace, event.own):
            return
        name = named(event.class_name.removeprefix("peft."), "the adapter")
        cause = ""
        if event.off:
            text, note = _OFF[event.off]
            trail = [Step(event.off_at, note)] if event.off_at is not None else []
            help_ = "let the adapter compute in every training forward, and switch it off for comparison alone"
        elif event.since is not None or trace.observed:
            text, help_ = _FROZEN, "freeze the base before the adapter is built, or load it to be trained"
            cause = "frozen"
            trail = [Step(event.since, "all of it is frozen here")] if event.since not in (None, event.site) else []
        else:
            return
        yield self.finding(event.site, message(text, name=name), help=help_, trail=trail, cause=cause)

    def _both(self, trace: Trace, event: AdapterTrained) -> Iterator[Finding]:
        """The optimizer moves what is adapted, too."""
        for built in takers(trace, event.own):
            if built.optimizer not in event.takers:
                continue
            steps = (step.name for step in trace.of(Stepped) if step.optimizer == built.optimizer)
            name = built.name or owner(next(steps, ""), "step", "the optimizer")
            adapter = event.class_name.removeprefix("peft.")
            text = "`{name}` moves the weights that `{adapter}` adapts: they were to stay"
            if adapter.startswith("loralib."):
                text = "`{name}` moves all that is beside the layers of `loralib`: it was to stay"
            unfrozen = [Step(event.since, "all of the model is said to train here")] if event.since else []
            yield self.finding(
                built.site,
                message(text, name=name, adapter=adapter),
                help="freeze what has an adapter before the optimizer takes the parameters",
                trail=[
                    Step(event.site, sentence("`{adapter}` is put beside them here", adapter=adapter)),
                    *unfrozen,
                ],
            )

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Whether the adapter alone moved."""
        events = told(trace, finding)
        if events and all(event.own_moved and not event.base_moved for event in events):
            return True
        return "the run does not tell what became of the adapter" if events else False

    def speaks_alone(self, trace: Trace, finding: Finding) -> bool:
        """Of the layers of loralib only the source tells that the weights of the others were loaded."""
        return not any(event.class_name.startswith("loralib.") for event in told(trace, finding))

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """How many tensors of either kind moved."""
        events = told(trace, finding)
        if events:
            own, base = sum(event.own_moved for event in events), sum(event.base_moved for event in events)
            tensors = sum(event.own_tensors for event in events), sum(event.base_tensors for event in events)
            text = f"{own} of {count(tensors[0], 'adapter tensor')} and {base} of {tensors[1]} others moved"
            if not any(event.steps for event in events):
                text = "`backward()` refuses the loss: no weight of the model is behind it"
            yield fact(text, base, "tensors", events[0])
