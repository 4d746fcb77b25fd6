"""TDR217: a loss includes the padding of its targets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.edits import Figure, Keyword
from torch_doctor.rule import Evidence, Finding, Fix, Level, Rule, Step, same_place
from torch_doctor.trace import Backward, PaddedTargets
from torch_doctor_rules.judging.causes import place
from torch_doctor_rules.judging.evidence import at, fact, two
from torch_doctor_rules.judging.sites import first_per_site
from torch_doctor_rules.judging.wording import message, named, sentence

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Trace


_LEARNS = "`{loss}` includes the padding in `{target}`: the model learns to predict padding"
_OWNED = "the labels contain padding, and the loss of the model includes it: it learns to predict padding"
_SCORED = "`{loss}` includes the padding in `{target}`, which distorts the score"
_REPLACE = "set the labels to -100 at padding positions: the model's own loss ignores that value"
_UNSEEN = "the probe run does not show which targets of this loss are padding"
_IGNORE = "pass the padding value to the loss: `ignore_index={fill}`"
_MASK = "multiply the error of each element by a mask of the valid positions, and divide the sum by their number"


class LossOnPadding(Rule):
    """A loss includes the padding of its targets, so the model learns to predict padding.

    That is a loss over classes, or one that compares numbers, such as frames of audio or durations.

    ## Why is this bad?
    Sequences of different lengths are padded to fit into one tensor. The padding is not a target, but the loss cannot
    know that and averages over all positions. If half of a batch is padding, half of the gradient teaches the model to
    predict padding. That is easy, so the loss falls and says little about the sequences. The weight of the padding
    changes with the lengths in each batch.

    ## Example
    ```python
    from torch.nn.utils.rnn import pad_sequence

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
    ```diff
     model = nn.Sequential(nn.Embedding(20, 8, padding_idx=0), nn.Linear(8, 4))
    -criterion = nn.CrossEntropyLoss()
    +criterion = nn.CrossEntropyLoss(ignore_index=0)
     optimizer = torch.optim.Adam(model.parameters())
    ```

    ## Fix safety
    The loss changes: it is the mean over fewer targets. The fix sets `ignore_index` to the padding value, and only if
    the source shows that value. If the same number is also a real class, that class is ignored as well. In that case
    pad with -100, which is ignored by default.

    ## How the probe confirms it
    It finds the positions in the targets that `pad_sequence` filled, that the model's attention mask excludes, or whose
    tokens are the padding index of the embedding, and
    computes the loss of that batch again without them. If the loss does not change, the padding is already excluded by
    an index, by weights, or in another way. A regression is refuted if all predictions at these positions equal the
    padding. If a model of a library computes the loss from its labels, the probe runs a
    copy of that model.

    ## When it is not reported
    - Texts are tokenized one by one without padding.
    - A collator masks the labels (`DataCollatorForLanguageModeling`).
    - The targets are selected by a mask or by lengths, are only the first few, are modified in place after padding, or
      are passed to unresolved code.
    - The loss ignores the padding value.
    - A model computes a loss from its labels, but `backward()` is called on another loss of its logits.
    - The predictions of a regression are multiplied by anything, masked or selected after the last layer.
    - The loss has `reduction="none"`, so that it may be masked afterwards, or has class weights.
    - The targets are made as long as the output of the model, which has to say where they end.
    - The source neither gives the padding value nor shows that it is an index.

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
    shown_by = "targets with padding"

    def check(self, trace: Trace) -> Iterator[Finding]:
        """The first loss at each place that counts what was filled in."""
        yield from first_per_site(self._found(trace))

    def _found(self, trace: Trace) -> Iterator[Finding]:
        events = [event for event in trace.of(PaddedTargets) if event.counted is True and event.used]
        learned = trace.observed and any(event.trains for event in events)
        for event in events:
            if learned and not event.trains:
                continue  # a run does not show that these are the same labels
            padded, settings, owned = event.padded_at, event.settings_at, event.labelled_at
            remedy = _REPLACE if event.within else _MASK if event.compares else _IGNORE
            yield self.finding(
                owned or event.site,
                message(
                    _OWNED if owned is not None else _LEARNS if event.trains else _SCORED,
                    loss=event.name,
                    target=named(event.target, "its targets"),
                ),
                help=sentence(remedy, fill=event.fill or "..."),
                trail=[
                    *([Step(padded, "shorter sequences are padded here")] if padded not in (None, owned) else []),
                    *(
                        [Step(event.site, "a model computes its loss of these labels here")]
                        if owned is not None
                        else []
                    ),
                ],
                cause=place(padded if event.within else settings if settings != event.site else None),
                edits=[Keyword(settings, "ignore_index", event.fill)] if settings is not None and event.fill else [],
            )

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Return whether the loss got targets with padding in them there, and left it out."""
        unseen = finding.help == _MASK and any(trace.of(Backward))
        return bool(_events(trace, finding)) or (_UNSEEN if unseen else False)

    def speaks_alone(self, trace: Trace, finding: Finding) -> bool:
        """Nobody knows whether the loss of a model is looked at that nothing learns from."""
        return any((event.trains or not event.within) and not event.inferred for event in _events(trace, finding))

    def same(self, finding: Finding, seen: Finding) -> bool:
        """Return whether the run has the loss of a finding, or that of the trainer that gets these labels."""
        return super().same(finding, seen) or any(same_place(step.site, seen.site) for step in finding.trail[-1:])

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """How much of the targets is padding, and what the loss is with it and without it."""
        events = _events(trace, finding)
        for event in [each for each in events if each.counted][:1] or events[:1]:
            noun = "positions" if event.compares else "targets"
            text = f"{event.positions:,} of {event.of:,} {noun} are padding"
            yield fact(text, event.positions, "targets", event)
            if event.compares:
                yield fact(f"predictions differ from them by {event.before:.3g} on average", event.before, "", event)
                continue
            before, after = two(event.before, event.after).split(" and ")
            text = f"{before} with them, {after} without them" if event.counted else f"{after} with and without them"
            yield fact(f"the loss is {text}", event.after, "", event)


def _events(trace: Trace, finding: Finding) -> list[PaddedTargets]:
    """Return what losses did with padding at the place of a finding, or where a trainer computes it."""
    return at(trace, finding.site, PaddedTargets) or [
        event for step in finding.trail[-1:] for event in at(trace, step.site, PaddedTargets)
    ]
