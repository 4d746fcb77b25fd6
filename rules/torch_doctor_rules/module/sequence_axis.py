"""TDR318: a layer for sequences goes along the batch instead of the steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.edits import Figure, Keyword
from torch_doctor.rule import Evidence, Finding, Fix, Level, Rule, Step, same_place
from torch_doctor.trace import LoaderBuilt, RowsMixed, Trace
from torch_doctor_rules.judging.evidence import count, fact
from torch_doctor_rules.judging.wording import message

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Site

SINGLE = 2
"""Dimensions of what a layer takes for one sequence."""
CREATED, REPEATED = "it is created here", "it is repeated here"


class SequenceAxis(Rule):
    """A recurrent or attention layer gets a tensor in which batch and time are exchanged.

    ## Why is this bad?
    `nn.LSTM`, `nn.GRU`, `nn.MultiheadAttention` and torch's transformers expect `[steps, batch, features]`, unless they
    are created with `batch_first=True`. If they get `[batch, steps, features]`, they treat the samples of a batch as
    consecutive steps, and the steps of a sample as independent sequences:

        [batch, steps, features]        batch_first=True     along the steps of each sample   ─────>
                                        the default          from one sample to the next        │
                                                                                                V

    No error is raised, the loss falls slightly, and the prediction for a sample changes with the rest of its batch. The
    same happens to `[steps, batch, features]` in a recurrent layer with `batch_first=True`.

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
    output of the layer change. If none does, the finding is refuted.

    ## When it is not reported
    - The loader keeps the stored order, which may be chronological, and the script does not take `[:, -1]` of the
      output as the last step.
    - The batch has one sample, or a `collate_fn` of the script creates it.
    - It is uncertain which dimension is the batch.
    - For attention between samples with a single step, or that the script brings to dimension 1.

    ## References
    - https://docs.pytorch.org/docs/stable/generated/torch.nn.LSTM.html
    - https://docs.pytorch.org/docs/stable/generated/torch.nn.MultiheadAttention.html
    """

    code = "TDR318"
    name = "sequence-axis"
    level = Level.ERROR
    witness = "SP"
    fix = Fix.UNSAFE
    fix_changes = frozenset({Figure.OUTPUTS})
    needs = frozenset({"mixing"})
    voided_by = frozenset({"shapes", "inside"})

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Every layer that goes along a batch of shuffled rows, or whose output is read as if it did not."""
        loaders = {event.loader: event for event in trace.of(LoaderBuilt)}
        reported = set()
        for event in trace.of(RowsMixed):
            if event.how != "layer" or event.site in reported or not _mixes(event, loaders.get(event.loader)):
                continue
            reported.add(event.site)
            single = len(event.shape) == SINGLE
            trail = [Step(event.site, CREATED)]
            if event.stacked_at is not None:
                trail.append(Step(event.stacked_at, REPEATED))
            if event.read_at is not None:
                trail.append(Step(event.read_at, "the last step of each sample is taken here"))
            may = not (single or event.explicit or trace.observed)
            yield self.finding(
                event.used_at or event.site,
                message(
                    "`{name}` runs along the batch: it treats the samples as steps of one sequence", name=_of(event)
                ),
                help=_STEPS if single else _OTHER if event.explicit else _FIRST,
                trail=trail,
                edits=[Keyword(event.site, "batch_first", "True")] if may else [],
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
        """Whether what the model gave for other rows changed, too."""
        return any(event.answers for event in _seen(trace, finding))

    def same(self, finding: Finding, seen: Finding) -> bool:
        """Whether they are about one layer, or about what repeats it."""
        return any(same_place(one, other) for one in _places(finding) for other in _places(seen))


_FIRST = "create it with `batch_first=True`, or pass the steps in dimension 0"
_OTHER = "pass the dimensions in the order that `batch_first` says"
_STEPS = "pass three dimensions, with a separate one for the steps of each sample"
_UNSEEN = "it is unknown whether the output depends on other samples"


def _of(event: RowsMixed) -> str:
    return event.name.removeprefix("torch.")


def _mixes(event: RowsMixed, loader: LoaderBuilt | None) -> bool:
    """Whether rows are mixed that have nothing to do with each other."""
    if event.read_at is not None:
        return True
    if loader is None or loader.batch in (0, 1) or (event.rows and not event.changed):
        return False
    recurrent = event.name.rpartition(".")[2] in ("RNN", "LSTM", "GRU")
    steps = len(event.shape) > SINGLE and 1 not in event.shape[:SINGLE]
    return loader.shuffle is True and (recurrent or steps)


def _places(finding: Finding) -> list[Site]:
    return [step.site for step in finding.trail if step.note in (CREATED, REPEATED)]


def _seen(trace: Trace, finding: Finding) -> list[RowsMixed]:
    places = _places(finding)
    return [
        event
        for event in trace.of(RowsMixed)
        if event.how == "layer" and any(same_place(place, event.site) for place in places)
    ]
