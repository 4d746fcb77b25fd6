"""TDR610: a file is written to a folder that does not exist."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.edits import Insert
from torch_doctor.rule import Evidence, Finding, Fix, Level, Rule
from torch_doctor.trace import FolderMissing, Trace
from torch_doctor_rules.judging.evidence import fact
from torch_doctor_rules.judging.sites import first_per_site
from torch_doctor_rules.judging.wording import message

if TYPE_CHECKING:
    from collections.abc import Iterator


class CheckpointFolderMissing(Rule):
    """The folder of a checkpoint, log or figure does not exist, and the script does not create it.

    ## Why is this bad?
    `torch.save` and `open` create files, not folders. The script fails when it writes for the first time, which is often
    after the first epoch or at the end of training, and the trained weights are lost. On the machine of its author it
    works, because the folder is there; version control does not keep empty folders.

    ## Example
    ```python
    for _ in range(3):
        optimizer.zero_grad()
        nn.functional.mse_loss(model(torch.randn(16, 4)), torch.randn(16, 1)).backward()
        optimizer.step()
    torch.save(model.state_dict(), "checkpoints/model.pt")
    ```

    ## Use instead
    ```diff
         optimizer.step()
    +os.makedirs(os.path.dirname("checkpoints/model.pt"), exist_ok=True)
     torch.save(model.state_dict(), "checkpoints/model.pt")
    ```

    ## How the probe confirms it
    When the script writes a file, the probe checks whether its folder exists on disk or was created by the script before.
    The probe then creates the folder in its scratch directory, so that the run continues.

    ## When it is not reported
    - For folders outside the project, which may exist on the machine that the script is meant for.
    - For folders that the script or a library creates.
    - If the path comes from arguments that the probe substituted.

    ## References
    - https://docs.python.org/3/library/os.html#os.makedirs
    """

    code = "TDR610"
    name = "checkpoint-folder-missing"
    level = Level.WARNING
    witness = "P"
    voided_by = frozenset({"arguments"})
    fix = Fix.UNSAFE
    fix_changes = frozenset()

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Every place that writes to a folder that nobody created."""
        yield from first_per_site(self._found(event) for event in trace.of(FolderMissing))

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Whether the run wrote there, which it does not without a folder."""
        return trace.run is not None and trace.run.came_to(finding.site) is True

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """Which folder is missing."""
        for event in trace.of(FolderMissing):
            if event.site == finding.site:
                yield fact(
                    f"the folder {event.folder} does not exist when the script writes to it", event.folder, "", event
                )
                return

    def _found(self, event: FolderMissing) -> Finding:
        create = f"$os.makedirs($os.path.dirname({event.file}), exist_ok=True)"
        return self.finding(
            event.site,
            message(
                "the folder `{folder}` does not exist and is never created: writing to it fails", folder=event.folder
            ),
            help="create it at the start of the script with `os.makedirs(..., exist_ok=True)`",
            edits=[Insert(event.site, create)] if event.file and event.what == "file" else [],
        )
