"""TDR321: a mask means the opposite of what the layer takes, or leaves nothing out."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from torch_doctor.edits import Figure, Keyword
from torch_doctor.rule import Evidence, Finding, Fix, Level, Rule, Step
from torch_doctor.trace import MaskGiven
from torch_doctor_rules.judging.evidence import at, count, fact
from torch_doctor_rules.judging.sites import first_per_site
from torch_doctor_rules.judging.wording import message

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Trace

_PADDING = "the mask is inverted: `{name}` leaves out the tokens and uses the padding"
_CAUSAL = "the mask is inverted: `{name}` leaves out earlier positions and uses later ones"
_NOTHING = "the mask leaves nothing out: `{name}` uses the padding like all other tokens"
_UNSEEN = "what the mask hides shows neither padding nor the order of the elements"


class MaskInverted(Rule):
    """A padding or attention mask means the opposite of what the layer takes, or it leaves nothing out.

    ## Why is this bad?
    torch has two conventions. `nn.MultiheadAttention` and the layers of `nn.Transformer` leave out what is True in a mask,
    as `masked_fill` does. `F.scaled_dot_product_attention` uses what is True, as transformers does with `attention_mask`.
    With the wrong one, the model attends to the padding only, or each position only to later ones. It still trains on
    what gets past the attention, and its scores stay mediocre. A mask that is the same everywhere leaves nothing out: each
    token attends to the padding, too.

    ## Example
    ```python
    tokens = torch.randint(1, 20, (16, 6))
    tokens[::2, 4:] = 0
    embed = nn.Embedding(20, 8, padding_idx=0)
    encoder = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    optimizer = torch.optim.Adam([*embed.parameters(), *encoder.parameters()])
    for step in range(3):
        optimizer.zero_grad()
        real = tokens != 0
        encoder(embed(tokens), src_key_padding_mask=real).pow(2).mean().backward()
        optimizer.step()
    ```

    ## Use instead
    ```diff
         real = tokens != 0
    -    encoder(embed(tokens), src_key_padding_mask=real).pow(2).mean().backward()
    +    encoder(embed(tokens), src_key_padding_mask=~real).pow(2).mean().backward()
         optimizer.step()
    ```

    ## Fix safety
    The fix is unsafe: it puts `~` before the mask where it is given, so the outputs change.

    ## How the probe confirms it
    It compares the mask with the tokens that went into an embedding. If attention only gets one token, which is none of
    those that it leaves out, the finding is confirmed; if it leaves out only this one token, it is refuted. Causal masks
    are compared with the order of the positions. A mask that leaves nothing out is confirmed if the same tokens were padded.

    ## When it is not reported
    - The source does not show what is True in the mask: it comes from a file, or from code that is not analyzed.
    - The mask compares something else than the tokens that the layer gets, or lengths that may count the padding.
    - Masks of numbers, which are added to the scores.

    ## References
    - https://docs.pytorch.org/docs/stable/generated/torch.nn.MultiheadAttention.html
    - https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.scaled_dot_product_attention.html
    """

    code = "TDR321"
    name = "mask-inverted"
    level = Level.ERROR
    witness = "SP"
    fix = Fix.UNSAFE
    fix_changes = frozenset({Figure.OUTPUTS, Figure.LOSS, Figure.GRADIENTS, Figure.UPDATES})
    needs = frozenset({"given_masks"})
    shown_by = "masks that attention gets"

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Yield a finding for the first inverted mask at each place."""
        for event in first_per_site([event for event in trace.of(MaskGiven) if event.inverted or event.nothing]):
            causal = event.marks in ("past", "future") or (not event.marks and event.token is None)
            text = _NOTHING if event.nothing else _CAUSAL if causal else _PADDING
            yield self.finding(
                event.site,
                message(text, name=event.name),
                help="mark the padding in the mask" if event.nothing else "pass the opposite mask",
                trail=[Step(event.made_at, "the mask is computed here")]
                if event.made_at not in (None, event.site)
                else [],
                edits=[Keyword(event.site, event.keyword, _negated(event.mask), event.position)]
                if event.keyword and event.mask
                else [],
            )

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Return whether each mask that the layer got there left out what it should."""
        found = at(trace, finding.site, MaskGiven)
        if any(event.inverted is None for event in found):
            return _UNSEEN
        return bool(found)

    def speaks_alone(self, trace: Trace, finding: Finding) -> bool:
        """Whether every mask of the place was inverted: one batch may have had rows of a single token."""
        found = at(trace, finding.site, MaskGiven)
        return all(event.inverted or event.nothing for event in found)

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """Yield what attention used and left out."""
        events = at(trace, finding.site, MaskGiven)
        known = [event for event in events if event.inverted is not None]
        for event in [each for each in known if each.inverted or each.nothing][:1] or known[:1]:
            if event.nothing:
                text = f"the mask hides none of {count(event.hidden, 'padded position')}"
                yield fact(text, event.hidden, "positions", event)
            elif event.token is None:
                seen = "only later" if event.inverted else "no later"
                yield fact(f"{count(event.rows, 'position')} attend to {seen} ones", event.rows, "positions", event)
            elif event.inverted:
                text = f"attention gets only token {event.token}, and none of {count(event.hidden, 'other')}"
                yield fact(text, event.hidden, "tokens", event)
            else:
                text = f"attention gets {count(event.hidden, 'token')}, and leaves out only token {event.token}"
                yield fact(text, event.hidden, "tokens", event)


def _negated(mask: str) -> str:
    """The expression of the opposite mask."""
    bare = mask.lstrip("~") if mask.startswith("~") else mask
    simple = re.fullmatch(r"[\w.]+(\([^()]*\))?", bare) is not None
    if not simple:
        return f"~({mask})"
    return f"~{bare}" if bare == mask else bare
