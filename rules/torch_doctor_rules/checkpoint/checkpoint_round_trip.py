"""TDR608: a saved state that does not restore the model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.rule import Evidence, Finding, Level, Rule
from torch_doctor.trace import RoundTripped, Saved, Trace
from torch_doctor_rules.judging.evidence import fact, short
from torch_doctor_rules.judging.wording import message, named

if TYPE_CHECKING:
    from collections.abc import Iterator


class CheckpointRoundTrip(Rule):
    """A saved state, loaded into a new model, gives a different output for the same input.

    ## Why is this bad?
    `state_dict()` contains parameters and persistent buffers only. A tensor in a plain attribute, or in a buffer with
    `persistent=False`, is not saved. The model that is loaded later behaves differently, and no error is raised.

    ## Example
    ```python
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
    ```diff
             super().__init__()
    -        self.waves = [torch.randn(16) for _ in range(4)]
    +        self.register_buffer("waves", torch.randn(4, 16))
             self.head = nn.Linear(16, 1)
    ...
         def forward(self, x):
    -        return self.head(torch.sin(x @ torch.stack(self.waves)))
    +        return self.head(torch.sin(x @ self.waves))
    ```

    ## How the probe confirms it
    The probe loads the state into a copy of the model from its first call, or into a newly created model if the model has
    tensors in plain attributes. It gives both the same input in evaluation mode: their outputs differ, and so do some of
    their tensors.

    ## When it is not reported
    - For the state of a part of a model, averaged weights and best states, which differ from the current model on purpose.
    - For constants, which a new model has as well.
    - For models that carry state from one call to the next.
    - For models that are too large to copy.

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
        """Yield a finding for the first save of each model whose state does not restore it."""
        seen = set()
        for trip in trace.of(RoundTripped):
            if trip.lost and trip.difference and trip.module not in seen:
                seen.add(trip.module)
                text = "`{lost}` of `{name}` is not saved: the loaded model gives different outputs"
                yield self.finding(
                    trip.site,
                    message(text, lost=trip.lost[0], name=named(trip.name, "the model")),
                    help=f'register it: `self.register_buffer("{trip.lost[0].rpartition(".")[2]}", …)`',
                )

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """Yield the largest difference between the outputs."""
        saves = {saved.index: saved for saved in trace.of(Saved)}
        for trip in trace.of(RoundTripped):
            if trip.site == finding.site and trip.difference:
                text = f"after loading, outputs for the same input differ by up to {short(trip.difference)}"
                yield fact(text, trip.difference, "", saves.get(trip.saved, trip))
                return
