"""TDR604: a checkpoint wants the device that it was saved on."""

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
    """A checkpoint is loaded to the device that it was saved on, which may not be there.

    ## Why is this bad?
    `torch.load` puts every tensor back where it was: a file that was saved on a GPU fails to load on a machine without one,
    and fills the first GPU of every process where there are several.

    ## Example
    ```python
    import torch
    from torch import nn

    model = nn.Linear(4, 1)
    torch.save(model.state_dict(), "model.pt")
    model.load_state_dict(torch.load("model.pt", weights_only=True))
    ```

    ## Use instead
    ```python
    import torch
    from torch import nn

    model = nn.Linear(4, 1)
    torch.save(model.state_dict(), "model.pt")
    model.load_state_dict(torch.load("model.pt", map_location="cpu", weights_only=True))
    ```

    ## How the probe confirms it
    It does not: a run on this machine says nothing of the next one.

    ## When it is not reported
    When a map is given, also through `**options`, and for what the script itself wrote into memory.

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
        """Every file that is read without a word of the device."""
        for loaded in read(trace):
            if loaded.mapped is False:
                text = "`{name}` is loaded to the device that it was saved on, which may not be there"
                yield self.finding(
                    loaded.site,
                    message(text, name=loaded.name),
                    help='add `map_location="cpu"`',
                    edits=[Keyword(loaded.site, "map_location", '"cpu"', 1)],
                )
