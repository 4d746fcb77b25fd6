"""TDR714: a model that reads the padding of its input sequences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.rule import Evidence, Finding, Level, Rule, Step, same_place
from torch_doctor.trace import ENCODER, MEAN, PaddingRead
from torch_doctor_rules.judging.causes import place
from torch_doctor_rules.judging.evidence import at, count, fact, two
from torch_doctor_rules.judging.sites import first_per_site
from torch_doctor_rules.judging.wording import message, owner

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Trace


_READS = "`{name}` reads the padding of shorter sequences: outputs depend on the rest of the batch"
_HELP = {
    **dict.fromkeys(
        ("", "LSTM", "GRU", "RNN"),
        "pack the sequences with their lengths, or select the last valid step of each by its length",
    ),
    ENCODER: "pass the attention mask of the tokens",
    MEAN: "divide the sum over the valid steps by their number",
    "attention": "fill the scores of the padding with -inf before the softmax",
    "max": "fill the padding with -inf before the maximum",
}
_NOTES = {
    MEAN: "the mean that is used here counts the padding",
    "attention": "the weights of this sum include the padding",
    "max": "this maximum may be taken in the padding",
}
_LENGTH = "other values in the padding change no output, but its length may"
_ENCODES = "`{name}` gets no attention mask: every token attends to the padding of shorter sequences"
_INSIDE = "this encoder in `{name}` gets no attention mask: its tokens attend to padding"


class PaddingUnmasked(Rule):
    """A model reads the padding of its input sequences, so its output depends on the other sequences in the batch.

    ## Why is this bad?
    A recurrent layer continues through the padding: its last state is the one after the padding, and the reverse direction of
    a bidirectional layer starts there. Attention without a mask also attends to the padding, and so does a pretrained encoder
    without `attention_mask`. Means and maxima over the steps take the padding in. The same sequence gets a
    different output alone than in a batch with longer ones, both in training and in production.

    ## Example
    ```python
    from torch.nn.utils.rnn import pad_sequence

    tracks = [torch.randn(3 + number % 5, 6) for number in range(8)]
    labels = torch.arange(8) % 2
    lstm = nn.LSTM(6, 8, batch_first=True, bidirectional=True)
    head = nn.Linear(8, 2)
    optimizer = torch.optim.Adam([*lstm.parameters(), *head.parameters()])
    for step in range(3):
        optimizer.zero_grad()
        _, (hidden, _) = lstm(pad_sequence(tracks, batch_first=True))
        nn.functional.cross_entropy(head(hidden[-1]), labels).backward()
        optimizer.step()
    ```

    ## Use instead
    ```diff
    -from torch.nn.utils.rnn import pad_sequence
    +from torch.nn.utils.rnn import pack_sequence
    ...
         optimizer.zero_grad()
    -    _, (hidden, _) = lstm(pad_sequence(tracks, batch_first=True))
    +    _, (hidden, _) = lstm(pack_sequence(tracks, enforce_sorted=False))
         nn.functional.cross_entropy(head(hidden[-1]), labels).backward()
    ```

    ## How the probe confirms it
    A copy of the model gets the batch twice. The second time, the values at padded positions are replaced in the inputs of
    recurrent and attention layers, and in the embeddings of pretrained models. The finding is confirmed if the outputs for
    the sequences themselves change, and refuted if they do not and the shortest sequence gets the same outputs without its
    padding.

    ## When it is not reported
    - For packed sequences, and for attention that gets any mask.
    - For unidirectional recurrent layers, if each output is used at its own time step, or the last valid one is selected by
      the lengths.
    - If the analyzed code does not show that the sequences are padded.
    - For pretrained models that are no encoders, or whose kind the source does not show.
    - For attention that is written by hand, sums of weighted steps and maxima over steps, if anything may mask the scores or
      the steps, and for maxima over embeddings or convolutions.
    - For attention whose mask leaves nothing out (TDR321).

    ## References
    - https://docs.pytorch.org/docs/stable/generated/torch.nn.utils.rnn.pack_padded_sequence.html
    - https://docs.pytorch.org/docs/stable/generated/torch.nn.MultiheadAttention.html
    """

    code = "TDR714"
    name = "padding-unmasked"
    level = Level.WARNING
    witness = "SP"
    needs = frozenset({"unmasked"})
    only_confirms = True
    voided_by = frozenset({"batches"})  # the mask of one that is made to fit says nothing of its tokens
    explained_by = frozenset({"TDR321"})
    shown_by = "padded sequences in the input of this model"

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Yield a finding for the first call at each place of a model that reads padding."""
        yield from first_per_site(map(self._report, first_per_site([e for e in trace.of(PaddingRead) if e.reads])))

    def _report(self, event: PaddingRead) -> Finding:
        padded, read, encodes = event.padded_at, event.read_at, event.by == ENCODER
        note = _NOTES.get(event.by, f"{event.by} reads the padding here")
        inside = read is not None and read != event.site
        name = owner(event.name, "forward", "the model")
        site = read if encodes and read is not None else event.site
        return self.finding(
            site,
            message((_INSIDE if inside else _ENCODES) if encodes else _READS, name=name),
            help=_HELP.get(event.by, "pass a `key_padding_mask` to the attention"),
            trail=[
                *([Step(padded, "shorter sequences are padded here")] if padded is not None else []),
                *([Step(event.site, "the model gets them here")] if inside and encodes else []),
                *([Step(read, note)] if read is not None and inside and not encodes else []),
            ],
            cause=place(read),
        )

    def same(self, finding: Finding, seen: Finding) -> bool:
        """Return whether a run has the call of a finding, or that of the model whose encoder it calls."""
        return super().same(finding, seen) or any(same_place(step.site, seen.site) for step in finding.trail[-1:])

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Return whether the model got padded sequences; without a finding, padding did not change its outputs."""
        events = _events(trace, finding)
        return _LENGTH if any(event.reads is None for event in events) else bool(events)

    def speaks_alone(self, trace: Trace, finding: Finding) -> bool:
        """Where each sequence gets one answer, no place of it can be a part that nobody looks at."""
        return any(event.alone for event in _events(trace, finding))

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """Yield how other padding changes the output."""
        events = _events(trace, finding)
        decided = sorted((each for each in events if each.reads is not None), key=lambda each: not each.reads)
        for event in decided[:1]:
            padding = f"other values in {count(event.positions, 'position')} of padding"
            if event.reads:
                one, other = two(event.first, event.second).split(" and ")
                yield fact(f"{padding} change an output from {one} to {other}", event.second, "", event)
            else:
                yield fact(f"{padding} change no output", event.positions, "places", event)


def _events(trace: Trace, finding: Finding) -> list[PaddingRead]:
    """Return what models did with padding at the place of a finding, or where the model around it is called."""
    return at(trace, finding.site, PaddingRead) or [
        event for step in finding.trail[-1:] for event in at(trace, step.site, PaddingRead)
    ]
