"""TDR130: what was frozen is thawed before it trains."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.rule import Evidence, Finding, Level, Rule, Step
from torch_doctor.trace import Forward, ModeSet, Thawed
from torch_doctor_rules.judging.evidence import at, count, fact
from torch_doctor_rules.judging.sites import first_per_site
from torch_doctor_rules.judging.subjects import FREEZINGS
from torch_doctor_rules.judging.thawing import Thawing
from torch_doctor_rules.judging.wording import message, owner

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Trace


class FreezingUndone(Rule):
    """Layers are frozen, and a wider loop or `train()` thaws them again before anything trains.

    ## Why is this bad?
    A later line that is about the whole model also reaches the part that was frozen. `requires_grad = True` for all
    parameters trains the pretrained layers along with the new ones, and `model.train()` puts batch norm that was held
    in evaluation mode back into training mode. The script still looks as if it froze them, and the loss still falls.

    ## Example
    ```python
    features = nn.Sequential(nn.Linear(4, 16), nn.ReLU())
    for p in features.parameters():
        p.requires_grad = False
    model = nn.Sequential(features, nn.Linear(16, 1))
    for p in model.parameters():
        p.requires_grad = True
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in DataLoader(train_set, batch_size=16, shuffle=True):
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()
    ```

    ## Use instead
    ```diff
    -for p in model.parameters():
    +for p in model[1].parameters():
         p.requires_grad = True
    ```

    ## How the probe confirms it
    The probe records where the script freezes and thaws parameters, and that they require gradients when the model is
    called next. For batch norm, it sees the switches of the mode, and a training batch in training mode after them.

    ## When it is not reported
    - Something runs, trains or is built with the frozen layers in between: gradual unfreezing, two-stage fine-tuning,
      the turns of a GAN, attacks.
    - Only some of the frozen parameters are thawed, such as the last block, or exactly those that were frozen.
    - A test decides about the thawing, or the layers are frozen again before they train.
    - Batch norm is held in evaluation mode as part of a larger block (TDR125 reports it if it is also frozen).
    - Part of the code cannot be resolved.

    ## References
    - https://docs.pytorch.org/docs/stable/notes/autograd.html#locally-disable-grad-doc
    - https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.train
    """

    code = "TDR130"
    name = "freezing-undone"
    level = Level.ERROR
    witness = "SP"
    needs = frozenset({"thawing"})
    subject = FREEZINGS
    only_confirms = True
    shown_by = "training after the thawing"

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Yield every line that thaws what was frozen."""
        yield from first_per_site(self._norms(trace))
        yield from first_per_site(self._parameters(trace))

    def _norms(self, trace: Trace) -> Iterator[Finding]:
        for frozen, thawed, trains in trace.view(Thawing).norms():
            name = thawed.name if isinstance(thawed, ModeSet) else ""
            yield self.finding(
                thawed.site,
                message(
                    "`{name}.train()` puts batch norm back into training mode that was held in evaluation mode",
                    name=owner(name, "train", name),
                ),
                help="put batch norm into evaluation mode after each switch to training mode",
                trail=[
                    Step(frozen.site, "batch norm is put into evaluation mode here"),
                    Step(thawed.site, "all of the model is put into training mode here"),
                    Step(trains.site, "a training batch updates the statistics here"),
                ],
            )

    def _parameters(self, trace: Trace) -> Iterator[Finding]:
        found = [
            (each.since, each.site, None) for each in trace.of(Thawed) if each.since is not None and not each.frozen
        ]
        undone = [(each.frozen.site, each.thawed.site, each.trains.site) for each in trace.view(Thawing).parameters()]
        for frozen, thawed, trains in (*undone, *found):
            yield self.finding(
                thawed,
                "the frozen parameters require gradients again from here on: they train along with the rest",
                help="thaw only the parameters that should train, or drop the freezing",
                trail=[
                    Step(frozen, "they are frozen here"),
                    Step(thawed, "they are thawed here, along with others"),
                    *([] if trains is None else [Step(trains, "they get gradients here")]),
                ],
            )

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Return whether the line ran, and what it left frozen stays so."""
        seen = at(trace, finding.site, Thawed)
        if seen and all(each.frozen for each in seen):
            return True
        ran = bool(seen) or any(each.site == finding.site for each in trace.of(ModeSet))
        return "the probe run shows no training after the thawing" if ran else False

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """How many parameters were thawed, or how many batches updated the statistics."""
        for seen in at(trace, finding.site, Thawed)[:1]:
            yield fact(
                f"{count(seen.tensors, 'frozen parameter tensor')} thawed before the next call",
                seen.tensors,
                event=seen,
            )
        for frozen, thawed, trains in trace.view(Thawing).norms():
            if thawed.site == finding.site and isinstance(trains, Forward):
                held = [each for each in trace.of(ModeSet) if each.module in each.norms and each.site == frozen.site]
                layers = len({each.module for each in held})
                yield fact(
                    f"{count(layers, 'batch norm layer')} in training mode in the next batch", layers, event=trains
                )
                return
