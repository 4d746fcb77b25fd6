"""TDR604: a checkpoint is loaded without `map_location`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.edits import Figure, Keyword
from torch_doctor.rule import Finding, Fix, Level, Rule
from torch_doctor_rules.judging.checkpoint_files import read
from torch_doctor_rules.judging.wording import message

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Trace


class LoadWithoutMapLocation(Rule):
    """A checkpoint is loaded without `map_location`, so its tensors go to the device they were saved from.

    ## Why is this bad?
    `torch.load` restores every tensor to the device it was saved from. A file saved on a GPU fails to load on a machine
    without one. With several processes, each of them loads the tensors to the same GPU.

    ## Example
    ```python
    torch.save(model.state_dict(), "model.pt")
    model.load_state_dict(torch.load("model.pt", weights_only=True))
    ```

    ## Use instead
    ```diff
     torch.save(model.state_dict(), "model.pt")
    -model.load_state_dict(torch.load("model.pt", weights_only=True))
    +model.load_state_dict(torch.load("model.pt", map_location="cpu", weights_only=True))
    ```

    ## How the probe confirms it
    It does not: a run on this machine shows nothing about other machines.

    ## When it is not reported
    If `map_location` is passed, also through `**options`, and for buffers in memory that the script wrote itself.

    ## References
    - https://docs.pytorch.org/docs/stable/generated/torch.load.html
    """

    code = "TDR604"
    name = "load-without-map-location"
    level = Level.ADVICE
    witness = "S"
    fix = Fix.UNSAFE
    fix_changes = frozenset[Figure]()

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Yield a finding for every file that is loaded without `map_location`."""
        for loaded in read(trace):
            if loaded.mapped is False:
                text = "`{name}` is loaded to the device it was saved from: this fails on machines without it"
                yield self.finding(
                    loaded.site,
                    message(text, name=loaded.name),
                    help='add `map_location="cpu"`',
                    edits=[Keyword(loaded.site, "map_location", '"cpu"', 1)],
                )
