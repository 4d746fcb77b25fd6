"""TDR315: what a model gives for a row depends on the other rows of its batch."""

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
    """What the model gives for a row depends on the other rows of its batch.

    ## Why is this bad?
    `nn.LSTM`, `nn.GRU`, `nn.MultiheadAttention` and the transformers of torch take `[steps, batch, features]`, unless they are
    built with `batch_first=True`. Given `[batch, steps, features]` they go along the batch: each row is taken for the next
    step after the one that happens to lie before it. A `view` that puts the batch in another place, where a `transpose`
    was meant, cuts the rows into pieces and joins pieces of several. What a model normalises by a mean or a norm over all
    rows depends on all of them, in evaluation, too. Nothing fails, the loss falls a little, and what is predicted for a row
    changes with the company it is in.

    ## Example
    ```python
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

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
    ```python
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm, self.head = nn.LSTM(4, 8, batch_first=True), nn.Linear(8, 1)

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

    ## Fix safety
    The fix builds the layer with `batch_first=True`: outputs have the batch in front, too, and code that takes the last step as
    `output[-1]` has to take `output[:, -1]`. Weights that were trained the other way are worth nothing.

    ## How the probe confirms it
    On a copy of the model in evaluation mode one row of the batch is replaced by another: other rows of what the layer or the
    view gives change, or of what is normalised. Where none does, it is refuted.

    ## When it is not reported
    Where rows come in their stored order, which may be that of time; for batches of one row, and those that a `collate_fn`
    of the script puts together; where it is not certain in which dimension the batch lies; for batch norm, be it
    torch's or written by hand, similarities between rows, attention between rows of a single step, norms whose result no loss
    compares with the batch's labels, and whatever else compares rows by itself.

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
            text = "`{name}` goes along the batch: it takes the rows for the steps of one sequence"
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
        return "the run does not tell whether the rows are in an order that means something" if found else _UNSEEN

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """How many other rows changed with one."""
        for event in sorted(_seen(trace, finding), key=lambda each: -each.changed)[:1]:
            others = count(event.rows - 1, "other row")
            yield fact(f"with one row replaced, {event.changed:,} of {others} changed", event.changed, "rows", event)

    def speaks_alone(self, trace: Trace, finding: Finding) -> bool:
        """Whether what the model gives for other rows changed, too; losses that compare rows want norms over them."""
        return any(event.answers and event.how != "norm" for event in _seen(trace, finding))

    def same(self, finding: Finding, seen: Finding) -> bool:
        """Whether they are about one layer, or about what repeats it."""
        return any(same_place(site, seen.site) for site in _places(finding))


_FIRST = "build it with batch_first=True, or give it the steps in dimension 0"
_STEPS = "give it three dimensions, with the steps of each row in one of its own"
_WRITTEN = {
    "view": (
        "`{name}` cuts the rows of a batch to pieces: each new row holds parts of several",
        "change the order of dimensions by transposing, and view only what lies side by side",
    ),
    "norm": (
        "`{name}` normalises over the rows of the batch: each depends on who else is there",
        "normalise over the features (dim=1), or by batch norm, which keeps its statistics for evaluation",
    ),
}
_UNSEEN = "the run does not tell what other rows have to do with it"


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
