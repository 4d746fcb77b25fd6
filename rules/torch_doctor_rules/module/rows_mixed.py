"""TDR315: the output for a sample depends on the other samples of its batch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.rule import Evidence, Finding, Level, Rule, Step, same_place
from torch_doctor.trace import LoaderBuilt, Trace
from torch_doctor.trace import RowsMixed as Mixed
from torch_doctor_rules.judging.evidence import at, count, fact
from torch_doctor_rules.judging.sites import first_per_site
from torch_doctor_rules.judging.wording import message

if TYPE_CHECKING:
    from collections.abc import Iterator


class RowsMixed(Rule):
    """The output for a sample depends on the other samples of its batch.

    ## Why is this bad?
    A `view` that is used instead of a `transpose` splits the samples and joins parts of several. If a model normalizes
    by a mean or norm over all samples, each output depends on all of them, in evaluation too. No error is raised, the
    loss falls slightly, and the prediction for a sample changes with the rest of its batch.

    A `forward` that sorts the samples by length for `pack_padded_sequence` and does not restore their order returns the
    outputs of other samples than the labels belong to.

    ## Example
    ```python
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.body, self.head = nn.Linear(4, 8), nn.Linear(8, 3)

        def forward(self, x):
            hidden = torch.relu(self.body(x))
            return self.head(hidden - hidden.mean(dim=0))

    net = Net()
    loader = DataLoader(TensorDataset(torch.randn(64, 4), torch.randint(0, 3, (64,))), batch_size=16, shuffle=True)
    optimizer = torch.optim.Adam(net.parameters())
    for x, y in loader:
        optimizer.zero_grad()
        nn.functional.cross_entropy(net(x), y).backward()
        optimizer.step()
    ```

    ## Use instead
    ```diff
             hidden = torch.relu(self.body(x))
    -        return self.head(hidden - hidden.mean(dim=0))
    +        return self.head(hidden - hidden.mean(dim=1, keepdim=True))
    ```

    ## How the probe confirms it
    On a copy of the model in evaluation mode, it replaces one sample of the batch by another. Other samples in the
    output of the view or the normalization change. If none does, the finding is refuted. For samples that are sorted,
    it reverses the batch: outputs that do not come out reversed belong to other samples.

    ## When it is not reported
    - The batch has one sample, or a `collate_fn` of the script creates it.
    - It is uncertain which dimension is the batch.
    - Samples are sorted and the order is used for anything but taking rows, or a `collate_fn` sorts as well.
    - TDR317 reports the view, or TDR318 the layer that takes the samples for steps.
    - For batch norm (torch's or written by hand), similarities between samples, norms whose result does not feed a
      loss against labels, and other operations that compare samples on purpose.

    ## References
    - https://docs.pytorch.org/docs/stable/generated/torch.transpose.html
    - https://docs.pytorch.org/docs/stable/generated/torch.nn.LayerNorm.html
    """

    code = "TDR315"
    name = "rows-mixed"
    level = Level.ERROR
    witness = "SP"
    needs = frozenset({"mixing", "reordered"})
    yields_to = frozenset({"TDR317", "TDR318"})
    voided_by = frozenset({"shapes", "inside"})

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Every view that cuts rows, and every norm over them."""
        loaders = {event.loader: event for event in trace.of(LoaderBuilt)}
        for event in first_per_site(e for e in trace.of(Mixed) if _mixes(e, loaders.get(e.loader))):
            text, help = _WRITTEN[event.how]  # noqa: A001 - as `finding` calls it
            yield self.finding(event.site, message(text, name=event.name), help=help, trail=_trail(event))

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Whether a batch came there, and its rows stayed apart."""
        found = _seen(trace, finding)
        if found and (finding.trail or not any(event.changed for event in found)):
            return True
        return "it is unknown whether the order of the samples is meaningful" if found else _UNSEEN

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """How many other rows changed with one."""
        for event in sorted(_seen(trace, finding), key=lambda each: -each.changed)[:1]:
            others = count(event.rows - 1, "other sample")
            text = f"with one sample replaced, {event.changed:,} of {others} changed"
            if event.how == "order":
                text = (
                    f"with the samples reversed, {event.changed:,} of {event.rows} outputs were those of other samples"
                )
            yield fact(text, event.changed, "samples", event)

    def same(self, finding: Finding, seen: Finding) -> bool:
        """Whether they are the same bug: a run sees where a model is called that returns samples in another order."""
        return super().same(finding, seen) or any(same_place(step.site, seen.site) for step in finding.trail)

    def speaks_alone(self, trace: Trace, finding: Finding) -> bool:
        """Whether what the model gave for other rows changed, too; losses that compare rows want norms over them."""
        return any(event.answers and event.how not in ("norm", "order") for event in _seen(trace, finding))


_WRITTEN = {
    "view": (
        "`{name}` splits the samples of the batch: each new row contains parts of several samples",
        "reorder dimensions with `transpose`; use `view` only to merge or split adjacent ones",
    ),
    "norm": (
        "`{name}` normalizes over the batch: each output depends on the other samples",
        "normalize over the features (`dim=1`), or use batch norm, which stores statistics for evaluation",
    ),
    "order": (
        "`{name}` sorts the samples, and nothing restores their order: outputs meet other samples' labels",
        "restore the order of the outputs, or let packing sort: it takes unsorted lengths if it is told so",
    ),
}
_UNSEEN = "it is unknown whether the output depends on other samples"


def _mixes(event: Mixed, loader: LoaderBuilt | None) -> bool:
    """Whether rows are mixed that have nothing to do with each other."""
    if loader is None or loader.batch in (0, 1) or (event.rows and not event.changed):
        return False
    return event.how in _WRITTEN


def _trail(event: Mixed) -> list[Step]:
    """The call of the model, where the outputs come out in another order: a run sees it there."""
    return (
        [Step(event.used_at, "the model is called here")] if event.how == "order" and event.used_at is not None else []
    )


def _seen(trace: Trace, finding: Finding) -> list[Mixed]:
    if finding.trail:
        return [event for step in finding.trail for event in at(trace, step.site, Mixed) if event.how == "order"]
    return [event for event in at(trace, finding.site, Mixed) if event.how in _WRITTEN]
