"""TDR315: the output for a sample depends on the other samples of its batch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.edits import Figure, Keyword
from torch_doctor.rule import Evidence, Finding, Fix, Level, Rule, Step, same_place
from torch_doctor.trace import LoaderBuilt, Trace
from torch_doctor.trace import RowsMixed as Mixed
from torch_doctor_rules.judging.evidence import at, count, fact
from torch_doctor_rules.judging.sites import first_per_site
from torch_doctor_rules.judging.wording import message

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Site

SINGLE = 2
"""Dimensions of what a layer takes for one sequence."""


class RowsMixed(Rule):
    """The output for a sample depends on the other samples of its batch.

    ## Why is this bad?
    `nn.LSTM`, `nn.GRU`, `nn.MultiheadAttention` and torch's transformers expect `[steps, batch, features]`, unless they
    are created with `batch_first=True`. If they get `[batch, steps, features]`, they treat the samples of a batch as
    consecutive steps. A `view` that is used instead of a `transpose` splits the samples and joins parts of several. If
    a model normalizes by a mean or norm over all samples, each output depends on all of them, in evaluation too. No
    error is raised, the loss falls slightly, and the prediction for a sample changes with the rest of its batch.

    ## Example
    ```python
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm, self.head = nn.LSTM(4, 8), nn.Linear(8, 1)

        def forward(self, x):
            return self.head(self.lstm(x)[0][:, -1])

    net = Net()
    loader = DataLoader(TensorDataset(torch.randn(64, 10, 4), torch.randn(64, 1)), batch_size=16, shuffle=True)
    optimizer = torch.optim.Adam(net.parameters())
    for x, y in loader:
        optimizer.zero_grad()
        nn.functional.mse_loss(net(x), y).backward()
        optimizer.step()
    ```

    ## Use instead
    ```diff
             super().__init__()
    -        self.lstm, self.head = nn.LSTM(4, 8), nn.Linear(8, 1)
    +        self.lstm, self.head = nn.LSTM(4, 8, batch_first=True), nn.Linear(8, 1)
    ```

    ## Fix safety
    The fix creates the layer with `batch_first=True`. Its outputs then have the batch first too, so code that takes the
    last step as `output[-1]` has to use `output[:, -1]`. Retrain: weights trained with the old layout do not fit.

    ## How the probe confirms it
    On a copy of the model in evaluation mode, it replaces one sample of the batch by another. Other samples in the
    output of the layer, the view or the normalization change. If none does, the finding is refuted.

    ## When it is not reported
    - The loader keeps the stored order, which may be chronological.
    - The batch has one sample, or a `collate_fn` of the script creates it.
    - It is uncertain which dimension is the batch.
    - For batch norm (torch's or written by hand), similarities between samples, attention between samples with a single
      step, norms whose result does not feed a loss against labels, and other operations that compare samples on purpose.

    ## References
    - https://docs.pytorch.org/docs/stable/generated/torch.nn.LSTM.html
    - https://docs.pytorch.org/docs/stable/generated/torch.nn.MultiheadAttention.html
    """

    code = "TDR315"
    name = "rows-mixed"
    level = Level.ERROR
    witness = "SP"
    fix = Fix.UNSAFE
    fix_changes = frozenset({Figure.OUTPUTS})
    needs = frozenset({"mixing"})
    yields_to = frozenset({"TDR317"})
    voided_by = frozenset({"shapes", "inside"})

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Every layer that goes along a batch of shuffled rows, every view that cuts rows, and every norm over them."""
        loaders = {event.loader: event for event in trace.of(LoaderBuilt)}
        for event in first_per_site(e for e in trace.of(Mixed) if _mixes(e, loaders.get(e.loader))):
            trail = [] if event.used_at is None or trace.observed else [Step(event.used_at, "it gets the batch here")]
            if event.stacked_at is not None:
                trail.append(Step(event.stacked_at, "it is repeated here"))
            if event.how in _WRITTEN:
                text, help = _WRITTEN[event.how]  # noqa: A001 - as `finding` calls it
                yield self.finding(event.site, message(text, name=event.name), help=help, trail=trail)
                continue
            single = len(event.shape) == SINGLE
            text = "`{name}` runs along the batch: it treats the samples as steps of one sequence"
            edits = (
                [Keyword(event.site, "batch_first", "True")] if not (single or event.explicit or trace.observed) else []
            )
            yield self.finding(
                event.site,
                message(text, name=event.name.removeprefix("torch.")),
                help=_STEPS if single else _FIRST,
                trail=trail,
                edits=edits,
            )

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Whether a batch came there, and its rows stayed apart."""
        found = _seen(trace, finding)
        if found and not any(event.changed for event in found):
            return True
        return "it is unknown whether the order of the samples is meaningful" if found else _UNSEEN

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """How many other rows changed with one."""
        for event in sorted(_seen(trace, finding), key=lambda each: -each.changed)[:1]:
            others = count(event.rows - 1, "other sample")
            yield fact(
                f"with one sample replaced, {event.changed:,} of {others} changed", event.changed, "samples", event
            )

    def speaks_alone(self, trace: Trace, finding: Finding) -> bool:
        """Whether what the model gave for other rows changed, too; losses that compare rows want norms over them."""
        return any(event.answers and event.how != "norm" for event in _seen(trace, finding))

    def same(self, finding: Finding, seen: Finding) -> bool:
        """Whether they are about one layer, or about what repeats it."""
        return any(same_place(site, seen.site) for site in _places(finding))


_FIRST = "create it with `batch_first=True`, or pass the steps in dimension 0"
_STEPS = "pass three dimensions, with a separate one for the steps of each sample"
_WRITTEN = {
    "view": (
        "`{name}` splits the samples of the batch: each new row contains parts of several samples",
        "reorder dimensions with `transpose`; use `view` only to merge or split adjacent ones",
    ),
    "norm": (
        "`{name}` normalizes over the batch: each output depends on the other samples",
        "normalize over the features (`dim=1`), or use batch norm, which stores statistics for evaluation",
    ),
}
_UNSEEN = "it is unknown whether the output depends on other samples"


def _mixes(event: Mixed, loader: LoaderBuilt | None) -> bool:
    """Whether rows are mixed that have nothing to do with each other."""
    if loader is None or loader.batch in (0, 1) or (event.rows and not event.changed):
        return False
    if event.how in _WRITTEN:
        return True
    recurrent = event.name.rpartition(".")[2] in ("RNN", "LSTM", "GRU")
    steps = len(event.shape) > SINGLE and event.shape[1] != 1
    return loader.shuffle is True and (recurrent or steps)


def _places(finding: Finding) -> list[Site]:
    return [finding.site, *(step.site for step in finding.trail if step.note == "it is repeated here")]


def _seen(trace: Trace, finding: Finding) -> list[Mixed]:
    return [event for site in _places(finding) for event in at(trace, site, Mixed)]
