"""TDR221: a reduction over the complete batch where a number for each sample is meant."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.rule import Evidence, Finding, Level, Rule, Step
from torch_doctor.trace import ReducedToOne, Trace
from torch_doctor_rules.judging.evidence import at, fact
from torch_doctor_rules.judging.wording import message

if TYPE_CHECKING:
    from collections.abc import Iterator

PAIR = 2
TEXTS = {
    "divided": "`{name}` counts the entire batch: each sample is divided by the elements of all samples",
    "added": "`{name}` adds up the entire batch, and each sample's loss gets the total",
    "compared": "`{name}` picks one index from the entire batch and compares it with each label",
    "normalized": "`{name}` adds up the entire batch: the weights of a sample do not sum to 1",
    "averaged": "`{name}` adds up the entire batch, so the mean goes over one number instead of the samples",
}
"""The message for each way in which a reduction is used."""
NOTES = {
    "divided": "the sum of each sample is divided by it here",
    "added": "it is added to a loss with one value for each sample here",
    "compared": "it is compared with a label for each sample here",
    "normalized": "the weights of each sample are used here",
    "averaged": "the mean of one number is taken here",
}


class ReducedToOneNumber(Rule):
    """A sum or argmax without `dim` reduces the entire batch where a number for each sample is meant.

    ## Why is this bad?
    Without `dim`, `sum` and `argmax` reduce all dimensions, including the batch. If the result meets values of single
    samples, broadcasting hides it: no error is raised. The mean of a masked sequence then shrinks with the size of the
    batch, one term of a loss weighs as much as all samples together, or an accuracy is near zero.

        mask [batch, steps]    mask.sum(dim=1)   [batch]   the number of steps of each sample
                               mask.sum()        []        the number of steps of all samples

    ## Example
    ```python
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.head = nn.Embedding(50, 8, padding_idx=0), nn.Linear(8, 2)

        def forward(self, tokens):
            mask = (tokens != 0).float()
            summed = (self.embed(tokens) * mask.unsqueeze(-1)).sum(dim=1)
            return self.head(summed / mask.sum())

    net = Net()
    data = TensorDataset(torch.randint(0, 50, (64, 10)), torch.randint(0, 2, (64,)))
    loader = DataLoader(data, batch_size=16, shuffle=True)
    optimizer = torch.optim.Adam(net.parameters())
    for tokens, labels in loader:
        optimizer.zero_grad()
        nn.functional.cross_entropy(net(tokens), labels).backward()
        optimizer.step()
    ```

    ## Use instead
    ```diff
             summed = (self.embed(tokens) * mask.unsqueeze(-1)).sum(dim=1)
    -        return self.head(summed / mask.sum())
    +        return self.head(summed / mask.sum(dim=1, keepdim=True))
    ```

    ## How the probe confirms it
    It checks that the input of the reduction has several samples and several elements for each of them.

    ## When it is not reported
    - The shape of the input is unknown, or it has one element for each sample.
    - It is only used as a number for the batch: a loss, a norm, a scale, a statistic for standardization.
    - The term of a loss does not depend on the batch, such as a penalty on weights, or a factor may be the batch size
      or its inverse.
    - The quotient has one number for each sample, or is summed over the samples: the mean over all elements may be meant.

    ## References
    - https://docs.pytorch.org/docs/stable/generated/torch.sum.html
    - https://docs.pytorch.org/docs/stable/generated/torch.argmax.html
    - https://docs.pytorch.org/docs/stable/notes/broadcasting.html
    """

    code = "TDR221"
    name = "reduced-to-one-number"
    level = Level.ERROR
    witness = "SP"
    voided_by = frozenset({"shapes", "inside"})

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Every reduction over a batch that meets values of single samples."""
        meant = {event.site for event in trace.of(ReducedToOne) if event.how == "totalled"}
        seen = set()
        for event in trace.of(ReducedToOne):
            if event.site in meant or event.site in seen or not (event.how or _several(event)):
                continue
            seen.add(event.site)
            text = TEXTS.get(event.how, "`{name}` reduces the entire batch to one number")
            chosen = event.function == "argmax"
            yield self.finding(
                event.site,
                message(text, name=event.name),
                help="choose in each row: `dim=1`" if chosen else "sum over the dimensions of a sample only: `dim=1`",
                trail=[Step(event.used_at, NOTES[event.how])] if event.used_at is not None else [],
            )

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Whether a batch of one sample came there, or samples with one element."""
        found = at(trace, finding.site, ReducedToOne)
        return bool(found) and not any(map(_several, found))

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """How many samples and elements it reduced."""
        for event in sorted(at(trace, finding.site, ReducedToOne), key=_several, reverse=True)[:1]:
            sizes = [size for size in event.shape if isinstance(size, int)]
            each = 1
            for size in sizes[1:]:
                each *= size
            samples = sizes[0] if sizes else 1
            yield fact(f"it reduces {samples:,} samples with {each:,} elements each to one number", samples, "", event)

    def speaks_alone(self, trace: Trace, finding: Finding) -> bool:  # noqa: ARG002 - as all rules
        """No: only the source shows that a number for each sample is meant."""
        return False


def _several(event: ReducedToOne) -> bool:
    """Whether it has several samples, with several elements for each."""
    sizes = [size for size in event.shape if isinstance(size, int)]
    return len(sizes) >= PAIR and sizes[0] > 1 and any(size > 1 for size in sizes[1:])
