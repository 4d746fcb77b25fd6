"""TDR608: what is saved of a model does not make the same model again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.rule import Evidence, Finding, Level, Rule
from torch_doctor.trace import RoundTripped, Saved, Trace
from torch_doctor_rules.judging.evidence import fact, short
from torch_doctor_rules.judging.wording import message, named

if TYPE_CHECKING:
    from collections.abc import Iterator


class CheckpointRoundTrip(Rule):
    """A saved state, read back into a fresh model, gives another output for the same input.

    ## Why is this bad?
    `state_dict()` holds parameters and persistent buffers. What a model keeps in a plain attribute, or in a buffer with
    `persistent=False`, is not in the file: the model that is loaded later is another one, and nothing says so.

    ## Example
    ```python
    import torch
    from torch import nn


    class Features(nn.Module):
        def __init__(self):
            super().__init__()
            self.waves = [torch.randn(16) for _ in range(4)]
            self.head = nn.Linear(16, 1)

        def forward(self, x):
            return self.head(torch.sin(x @ torch.stack(self.waves)))


    net = Features()
    print(net(torch.randn(16, 4)).mean())
    torch.save(net.state_dict(), "net.pt")
    ```

    ## Use instead
    ```python
    import torch
    from torch import nn


    class Features(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("waves", torch.randn(4, 16))
            self.head = nn.Linear(16, 1)

        def forward(self, x):
            return self.head(torch.sin(x @ self.waves))


    net = Features()
    print(net(torch.randn(16, 4)).mean())
    torch.save(net.state_dict(), "net.pt")
    ```

    ## How the probe confirms it
    It reads the state back into the model as it was at its first call, or built anew where it has tensors in plain
    attributes, and gives both the same input in evaluation mode: the answers differ, and so do tensors of the two.

    ## When it is not reported
    For parts of a model, averages and best states, which are another model; for constants, which a fresh model has as
    well; for models that carry something from call to call; and for models too big to copy.

    ## References
    - https://docs.pytorch.org/docs/stable/notes/serialization.html
    """

    code = "TDR608"
    name = "checkpoint-round-trip"
    level = Level.ERROR
    witness = "P"
    needs = frozenset({"round_trip"})
    explained_by = frozenset({"TDR301", "TDR302", "TDR308"})

    def check(self, trace: Trace) -> Iterator[Finding]:
        """The first save of each model that does not come back."""
        seen = set()
        for trip in trace.of(RoundTripped):
            if trip.lost and trip.difference and trip.module not in seen:
                seen.add(trip.module)
                text = "`{lost}` of `{name}` is not saved: what is loaded answers otherwise"
                yield self.finding(
                    trip.site,
                    message(text, lost=trip.lost[0], name=named(trip.name, "the model")),
                    help=f'register it: `self.register_buffer("{trip.lost[0].rpartition(".")[2]}", …)`',
                )

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """How far the answers are apart."""
        saves = {saved.index: saved for saved in trace.of(Saved)}
        for trip in trace.of(RoundTripped):
            if trip.site == finding.site and trip.difference:
                text = f"read back, the model answers otherwise by up to {short(trip.difference)} for the same input"
                yield fact(text, trip.difference, "", saves.get(trip.saved, trip))
                return
