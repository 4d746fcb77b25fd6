"""TDR217: a loss that counts the padding of its targets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.edits import Figure, Keyword
from torch_doctor.rule import Evidence, Finding, Fix, Level, Rule, Step
from torch_doctor.trace import PaddedTargets
from torch_doctor_rules.judging.causes import place
from torch_doctor_rules.judging.evidence import at, fact, two
from torch_doctor_rules.judging.sites import first_per_site
from torch_doctor_rules.judging.wording import message, named, sentence

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Trace


_LEARNS = "`{loss}` counts the padding in `{target}`: the model learns to write padding"
_SCORED = "`{loss}` counts the padding in `{target}`: the figure is that of the padding, too"
_REPLACE = "put -100 into the labels where they are padding: the model's own loss ignores that"


class LossOnPadding(Rule):
    """A loss counts the padding of its targets: the model learns to write padding.

    ## Why is this bad?
    Sequences of different lengths are filled up to stand in one tensor. What is filled in is no target, but the loss cannot
    know: it averages over all positions. Where half of a batch is padding, half of the gradient teaches the model to
    write it, which is easy, so that the loss falls and says little about the sequences. How much it weighs changes with
    the lengths that happen to meet in a batch.

    ## Example
    ```python
    import torch
    from torch import nn
    from torch.nn.utils.rnn import pad_sequence
    from torch.utils.data import DataLoader

    torch.manual_seed(0)
    sentences = [torch.randint(1, 20, (length,)) for length in (3, 5, 8, 4) * 8]

    def collate(batch):
        words = pad_sequence(batch, batch_first=True)
        return words, pad_sequence([sentence % 3 + 1 for sentence in batch], batch_first=True)

    model = nn.Sequential(nn.Embedding(20, 8, padding_idx=0), nn.Linear(8, 4))
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters())
    for words, tags in DataLoader(sentences, batch_size=8, shuffle=True, collate_fn=collate):
        optimizer.zero_grad()
        criterion(model(words).flatten(0, 1), tags.flatten()).backward()
        optimizer.step()
    ```

    ## Use instead
    ```python
    import torch
    from torch import nn
    from torch.nn.utils.rnn import pad_sequence
    from torch.utils.data import DataLoader

    torch.manual_seed(0)
    sentences = [torch.randint(1, 20, (length,)) for length in (3, 5, 8, 4) * 8]

    def collate(batch):
        words = pad_sequence(batch, batch_first=True)
        return words, pad_sequence([sentence % 3 + 1 for sentence in batch], batch_first=True)

    model = nn.Sequential(nn.Embedding(20, 8, padding_idx=0), nn.Linear(8, 4))
    criterion = nn.CrossEntropyLoss(ignore_index=0)
    optimizer = torch.optim.Adam(model.parameters())
    for words, tags in DataLoader(sentences, batch_size=8, shuffle=True, collate_fn=collate):
        optimizer.zero_grad()
        criterion(model(words).flatten(0, 1), tags.flatten()).backward()
        optimizer.step()
    ```

    ## Fix safety
    The loss changes: it is the mean over fewer targets. The fix tells the loss to ignore what the targets are filled up with,
    and does so only where the source gives that number. If the same number is also a real class, it is ignored there as
    well: fill up with -100, which is ignored by default.

    ## How the probe confirms it
    It finds in the targets what `pad_sequence` filled in, or what the attention mask of the model leaves out, and computes
    the loss of that batch again without those positions. A loss that stays the same leaves them out already: by its index, by
    weights, or otherwise. For labels that a model of a library compares itself, a copy of it does.

    ## When it is not reported
    Where texts are tokenized one by one and not filled up to a length, and where a collator masks the labels
    (`DataCollatorForLanguageModeling`); where targets are selected by a mask or by lengths, are the first few, or changed
    in place after they were padded, or handed out of sight; where the loss ignores what they are filled up with; where a
    model computes a loss of its labels that does not go backward, because another one is made of its scores; for
    `reduction="none"`, whose losses may be masked afterwards, and for losses with class weights; and where the source gives
    neither the number that fills up nor shows that it is an index.

    ## References
    - https://docs.pytorch.org/docs/stable/generated/torch.nn.CrossEntropyLoss.html
    - https://docs.pytorch.org/docs/stable/generated/torch.nn.utils.rnn.pad_sequence.html
    """

    code = "TDR217"
    name = "loss-on-padding"
    level = Level.ERROR
    witness = "SP"
    fix = Fix.UNSAFE
    fix_changes = frozenset({Figure.LOSS, Figure.GRADIENTS, Figure.UPDATES})
    needs = frozenset({"padding"})
    shown_by = "targets with padding in them"

    def check(self, trace: Trace) -> Iterator[Finding]:
        """The first loss at each place that counts what was filled in."""
        yield from first_per_site(self._found(trace))

    def _found(self, trace: Trace) -> Iterator[Finding]:
        for event in trace.of(PaddedTargets):
            if event.counted is not True or not event.used:
                continue
            padded, settings = event.padded_at, event.settings_at
            remedy = (
                _REPLACE if event.within else "let the loss ignore what fills them up{fill}: that is its ignore_index"
            )
            yield self.finding(
                event.site,
                message(
                    _LEARNS if event.trains else _SCORED,
                    loss=event.name,
                    target=named(event.target, "its targets"),
                ),
                help=sentence(remedy, fill=f", {event.fill}" if event.fill else ""),
                trail=[Step(padded, "shorter sequences are filled up here")] if padded is not None else [],
                cause=place(padded if event.within else settings if settings != event.site else None),
                edits=[Keyword(settings, "ignore_index", event.fill)] if settings is not None and event.fill else [],
            )

    def reached(self, trace: Trace, finding: Finding) -> bool:
        """Whether the loss got targets with padding in them there, and left it out."""
        return bool(at(trace, finding.site, PaddedTargets))

    def speaks_alone(self, trace: Trace, finding: Finding) -> bool:
        """Nobody knows whether the loss of a model is looked at that nothing learns from."""
        return any(event.trains or not event.within for event in at(trace, finding.site, PaddedTargets))

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """How much of the targets is padding, and what the loss is with it and without it."""
        events = at(trace, finding.site, PaddedTargets)
        for event in [each for each in events if each.counted][:1] or events[:1]:
            text = f"{event.positions:,} of {event.of:,} targets are padding"
            yield fact(text, event.positions, "targets", event)
            same = "as with it" if not event.counted else ""
            numbers = two(event.before, event.after).split(" and ")
            yield (
                fact(f"without them the loss is {numbers[1]}, {same}", event.after, "", event)
                if same
                else fact(f"the loss is {numbers[0]} with them, {numbers[1]} without", event.after, "", event)
            )
