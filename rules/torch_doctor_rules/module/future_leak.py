"""TDR319: a model that is trained on the next element sees it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.rule import Evidence, Finding, Level, Rule, Step, same_place
from torch_doctor.trace import FutureSeen
from torch_doctor_rules.judging.causes import place
from torch_doctor_rules.judging.evidence import count, fact
from torch_doctor_rules.judging.sites import first_per_site
from torch_doctor_rules.judging.wording import message, owner

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Site, Trace

LOSS = "the loss compares with the next elements here"


class FutureLeak(Rule):
    """A model that is trained to predict the next element of a sequence can see it.

    ## Why is this bad?
    If the targets are the inputs shifted by one position, the target of each position is the next input. Attention without
    a causal mask, a bidirectional recurrent layer, or a convolution that is padded on both sides lets a position see later
    inputs, and the model copies its target instead of predicting it:

        inputs        t    h    e    _    c          target of position 2: "e"

        no mask       position 2 sees   t  h  e  _  c      the answer is among what it sees
        causal mask   position 2 sees   t  h               the answer has to be predicted

    The training and validation loss fall to almost zero, but generation fails: the future does not exist there yet.

    ## Example
    ```python
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.out = nn.Embedding(20, 16), nn.Linear(16, 20)
            self.attend = nn.MultiheadAttention(16, 2, batch_first=True)

        def forward(self, tokens):
            h = self.embed(tokens)
            hidden, _ = self.attend(h, h, h)
            return self.out(h + hidden)

    tokens, model = torch.randint(0, 20, (8, 12)), Model()
    optimizer = torch.optim.Adam(model.parameters())
    for step in range(3):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(tokens[:, :-1]).transpose(1, 2), tokens[:, 1:]).backward()
        optimizer.step()
    ```

    ## Use instead
    ```diff
             h = self.embed(tokens)
    -        hidden, _ = self.attend(h, h, h)
    +        mask = nn.Transformer.generate_square_subsequent_mask(tokens.shape[1])
    +        hidden, _ = self.attend(h, h, h, attn_mask=mask)
             return self.out(h + hidden)
    ```

    ## How the probe confirms it
    The targets of the loss are the inputs one position later. On a copy of the model, the probe changes the last input and
    one in the middle, with the same seed for each run. Outputs for earlier positions change, too, apart from those whose
    target is ignored. The copy is in evaluation mode if the model has batch norm, which mixes positions in training. The
    probe reports the first operation after which earlier positions have changed. If no earlier output changes, the finding
    is refuted.

    ## When it is not reported
    - The source does not show that the targets are the inputs one position later, as for encoders, taggers, masked language
      models, and models that predict a window from the one before it.
    - Attention has any mask besides a padding mask; the static analysis does not check what the mask hides, the probe does.
    - A padded convolution whose outputs are cut off at the end.
    - An encoder sees a sequence that a decoder writes again (autoencoders).
    - Half of the features of a bidirectional layer are used, as in ELMo.
    - Something unknown happens between the inputs and the targets.

    ## References
    - https://docs.pytorch.org/docs/stable/generated/torch.nn.Transformer.html
    - https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.scaled_dot_product_attention.html
    """

    code = "TDR319"
    name = "future-leak"
    level = Level.ERROR
    witness = "SP"
    needs = frozenset({"foresight"})
    yields_to = frozenset({"TDR218", "TDR318", "TDR321"})
    explained_by = frozenset({"TDR321"})
    shown_by = "targets taken from the inputs"

    def check(self, trace: Trace) -> Iterator[Finding]:
        """What lets positions see their targets, the first at each place; one finding for each loss."""
        for event in first_per_site([each for each in trace.of(FutureSeen) if each.how]):
            text, help = _TEXTS.get(event.how, _OTHER)  # noqa: A001 - as `finding` calls it
            yield self.finding(
                event.site,
                message(text, model=owner(event.model, "forward", "the model")),
                help=help,
                trail=[Step(event.loss_at, LOSS)],
                cause=place(event.loss_at),
            )

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Whether the loss was computed there, and no output depended on a later element."""
        found = _seen(trace, finding)
        return (bool(found) and not any(event.how for event in found)) or _UNSEEN

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """In how many samples outputs change with a later element."""
        for event in sorted(_seen(trace, finding), key=lambda each: -each.changed)[:1]:
            samples = count(event.of, "sample")
            text = f"earlier outputs changed with a later element in {event.changed:,} of {samples}"
            yield fact(text, event.changed, "samples", event)

    def speaks_alone(self, trace: Trace, finding: Finding) -> bool:
        """Whether attention, a recurrent layer or a convolution changed outputs in every sample."""
        return any(each.changed == each.of and each.how in _TEXTS for each in _seen(trace, finding))

    def same(self, finding: Finding, seen: Finding) -> bool:
        """Whether they are about one loss: each witness names the first step that it is certain of."""
        return any(same_place(one, other) for one in _losses(finding) for other in _losses(seen))


_TEXTS = {
    "attention": (
        "attention without a causal mask: `{model}` sees the next elements, which it is trained to predict",
        "pass a causal mask, so that each position sees only itself and earlier ones",
    ),
    "recurrent": (
        "a layer with two directions: `{model}` sees the next elements, which it is trained to predict",
        "create the layer with one direction only",
    ),
    "convolution": (
        "a convolution padded on both sides: `{model}` sees the next elements, which it is trained to predict",
        "pad only the start of the sequence, by the dilation times the kernel size less one",
    ),
}
_OTHER = (
    "`{model}` sees the next elements here, which it is trained to predict",
    "let each position depend on earlier positions only",
)
_UNSEEN = "it is unknown whether outputs depend on later elements"


def _losses(finding: Finding) -> list[Site]:
    return [step.site for step in finding.trail if step.note == LOSS]


def _seen(trace: Trace, finding: Finding) -> list[FutureSeen]:
    return [
        event for event in trace.of(FutureSeen) if any(same_place(each, event.loss_at) for each in _losses(finding))
    ]
