"""TDR218: next-token losses that compare each position with itself, or labels that are shifted twice."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.rule import Evidence, Finding, Level, Rule, Step
from torch_doctor.trace import TokensCompared
from torch_doctor_rules.judging.causes import place
from torch_doctor_rules.judging.evidence import at, fact, short
from torch_doctor_rules.judging.sites import first_per_site
from torch_doctor_rules.judging.wording import message, named, owner

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Trace


class LabelsNotShifted(Rule):
    """A next-token loss compares each position with itself, or labels are shifted twice.

    ## Why is this bad?
    A language model that is asked in each place for the token it was just given there learns to copy: the loss goes to
    nothing within minutes, and what the model generates repeats its last token. Where labels are moved by one before they
    reach a loss that moves them by one itself, the model learns the token after the next, and never the next one.

    ## Example
    ```python
    import torch
    from torch import nn

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.out = nn.Embedding(20, 16), nn.Linear(16, 20)
            self.rnn = nn.GRU(16, 16, batch_first=True)

        def forward(self, tokens):
            return self.out(self.rnn(self.embed(tokens))[0])

    torch.manual_seed(0)
    tokens, model = torch.randint(0, 20, (8, 12)), Model()
    optimizer = torch.optim.Adam(model.parameters())
    for step in range(3):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(tokens).transpose(1, 2), tokens).backward()
        optimizer.step()
    ```

    ## Use instead
    ```python
    import torch
    from torch import nn

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.out = nn.Embedding(20, 16), nn.Linear(16, 20)
            self.rnn = nn.GRU(16, 16, batch_first=True)

        def forward(self, tokens):
            return self.out(self.rnn(self.embed(tokens))[0])

    torch.manual_seed(0)
    tokens, model = torch.randint(0, 20, (8, 12)), Model()
    optimizer = torch.optim.Adam(model.parameters())
    for step in range(3):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(tokens[:, :-1]).transpose(1, 2), tokens[:, 1:]).backward()
        optimizer.step()
    ```

    ## How the probe confirms it
    All targets that count are the tokens that the model got in their own places, and a copy of the model does not look
    ahead: another last token changes its score, and none before it. The loss for the next tokens is computed beside it.
    For labels that are shifted twice, all targets are the tokens two places later; that a model shifts its labels itself shows a
    copy of it, whose loss does not depend on the first of them. Targets that are the next tokens refute it.

    ## When it is not reported
    Where tokens are masked, replaced or overwritten before the model gets them; for models that see the whole sequence,
    as encoders, taggers and autoencoders do; where it is not in sight that input and targets are the same tokens; and for
    targets that are cut once to be several places ahead; and where a model computes a loss of its labels that does not go
    backward.

    ## References
    - https://docs.pytorch.org/docs/stable/generated/torch.nn.CrossEntropyLoss.html
    - https://docs.pytorch.org/docs/stable/generated/torch.nn.Transformer.html
    """

    code = "TDR218"
    name = "labels-not-shifted"
    level = Level.ERROR
    witness = "SP"
    needs = frozenset({"shifting"})
    shown_by = "targets that are the tokens of its input"

    def check(self, trace: Trace) -> Iterator[Finding]:
        """The first loss at each place that looks ahead by none, or by too many."""
        for event in first_per_site([each for each in trace.of(TokensCompared) if each.ahead != 1 and each.used]):
            target = named(event.target, "the targets")
            yield self.finding(
                event.site,
                message("`{target}` are the tokens that `{model}` is given there: it learns to copy", **_names(event))
                if not event.ahead
                else message("`{target}` are shifted twice: the model learns the token after the next", target=target),
                help="compare the scores up to the last place with the tokens from the second one on"
                if not event.ahead
                else "give the model labels that are not shifted: it does that itself"
                if event.itself
                else "shift once: before the model, or in the loss",
                trail=[Step(event.given_at, "the model gets the tokens here")]
                if event.given_at not in (None, event.site)
                else [],
                cause=place(event.given_at),
            )

    def reached(self, trace: Trace, finding: Finding) -> bool:
        """Whether the loss was computed there, for the next tokens."""
        return bool(at(trace, finding.site, TokensCompared))

    def speaks_alone(self, trace: Trace, finding: Finding) -> bool:
        """Several places ahead some models are meant to look."""
        return any(event.ahead == 0 for event in at(trace, finding.site, TokensCompared))

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """How many targets are the tokens that were given, and what the loss is for the next ones."""
        events = at(trace, finding.site, TokensCompared)
        for event in [each for each in events if each.ahead != 1][:1] or events[:1]:
            where = ("in their own places", "one place later", "two places later")[min(event.ahead, 2)]
            text = f"{event.same:,} of {event.of:,} targets are the tokens given {where}"
            yield fact(text, event.same, "targets", event)
            if event.shifted is not None and not event.ahead:
                text = f"the loss is {short(event.loss)}, and {short(event.shifted)} for the next tokens"
                yield fact(text, event.shifted, "", event)


def _names(event: TokensCompared) -> dict[str, str]:
    return {"target": named(event.target, "the targets"), "model": owner(event.model, "forward", "the model")}
