"""TDR218: the labels of a next-token loss are not shifted, or shifted twice."""

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
    """A next-token loss compares each position with its own input token, or labels are shifted twice.

    ## Why is this bad?
    If the target at each position is the token that the model gets at that position, the model learns to copy. The loss
    drops to zero within minutes, and generation repeats the last token. If labels are shifted before they reach a loss
    that shifts them itself, the model learns to predict the token after next, but never the next one.

    ## Example
    ```python
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.out = nn.Embedding(20, 16), nn.Linear(16, 20)
            self.rnn = nn.GRU(16, 16, batch_first=True)

        def forward(self, tokens):
            return self.out(self.rnn(self.embed(tokens))[0])

    tokens, model = torch.randint(0, 20, (8, 12)), Model()
    optimizer = torch.optim.Adam(model.parameters())
    for step in range(3):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(tokens).transpose(1, 2), tokens).backward()
        optimizer.step()
    ```

    ## Use instead
    ```diff
         optimizer.zero_grad()
    -    nn.functional.cross_entropy(model(tokens).transpose(1, 2), tokens).backward()
    +    nn.functional.cross_entropy(model(tokens[:, :-1]).transpose(1, 2), tokens[:, 1:]).backward()
         optimizer.step()
    ```

    ## How the probe confirms it
    All targets, apart from ignored ones, are the input tokens at the same positions. A copy of the model shows that it
    does not look ahead: changing the last token changes the output at the last position only. The probe also computes
    the loss for the next tokens. For labels that are shifted twice, all targets are the tokens two positions later, and
    a copy of the model, whose loss does not depend on the first label, shows that it shifts its labels itself. If the
    targets are the next tokens, the finding is refuted.

    ## When it is not reported
    - Tokens are masked, replaced or overwritten before the model gets them.
    - The model sees the whole sequence, like encoders, taggers and autoencoders.
    - The source does not show that input and targets are the same tokens.
    - The targets are sliced once to predict several positions ahead.
    - A model computes a loss from its labels, but `backward()` is not called on it.

    ## References
    - https://docs.pytorch.org/docs/stable/generated/torch.nn.CrossEntropyLoss.html
    - https://docs.pytorch.org/docs/stable/generated/torch.nn.Transformer.html
    """

    code = "TDR218"
    name = "labels-not-shifted"
    level = Level.ERROR
    witness = "SP"
    needs = frozenset({"shifting"})
    shown_by = "targets taken from the input tokens"

    def check(self, trace: Trace) -> Iterator[Finding]:
        """The first loss at each place that looks ahead by none, or by too many."""
        for event in first_per_site([each for each in trace.of(TokensCompared) if each.ahead != 1 and each.used]):
            target = named(event.target, "the targets")
            yield self.finding(
                event.site,
                message(
                    "`{target}` are the input tokens of `{model}`, not the next ones: it learns to copy",
                    **_names(event),
                )
                if not event.ahead
                else message(
                    "`{target}` are shifted twice: the model learns to predict the token after next", target=target
                ),
                help="compare all outputs except the last with all tokens except the first"
                if not event.ahead
                else "pass unshifted labels: the model shifts them itself"
                if event.itself
                else "shift only once: before the model, or in the loss",
                trail=[Step(event.given_at, "the model gets the tokens here")]
                if event.given_at not in (None, event.site)
                else [],
                cause=place(event.given_at or (event.site if trace.observed and event.itself else None)),
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
            where = ("at the same positions", "one position later", "two positions later")[min(event.ahead, 2)]
            text = f"{event.same:,} of {event.of:,} targets are the input tokens {where}"
            yield fact(text, event.same, "targets", event)
            if event.shifted is not None and not event.ahead:
                text = f"the loss is {short(event.loss)}; for the next tokens it is {short(event.shifted)}"
                yield fact(text, event.shifted, "", event)


def _names(event: TokensCompared) -> dict[str, str]:
    return {"target": named(event.target, "the targets"), "model": owner(event.model, "forward", "the model")}
