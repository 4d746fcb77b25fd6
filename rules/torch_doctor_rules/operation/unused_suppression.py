"""TDR001: a comment that suppresses what is not there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.edits import Comment, Figure
from torch_doctor.rule import Finding, Fix, Level, Rule
from torch_doctor.trace import SuppressionUnused, Trace
from torch_doctor_rules.judging.wording import message

if TYPE_CHECKING:
    from collections.abc import Iterator


class UnusedSuppression(Rule):
    """A comment suppresses a rule that finds nothing there, or one that does not exist.

    ## Why is this bad?
    The comment outlived the code that it was written for, stands on another line, or is misspelt. It says that something
    is wrong where nothing is, and when the bug comes back it will hide it.

    ## Example
    ```python
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        loss = model(torch.randn(8, 4)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()  # noqa: TDR101
        optimizer.step()
    ```

    ## Use instead
    ```python
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        loss = model(torch.randn(8, 4)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Fix safety
    The fix takes out the names that suppress nothing, with the reason that follows them where no name is left. It is
    safe: comments do nothing when the script runs. A name that no rule has, but that is spelt nearly as a rule's is, stays.

    ## How the probe confirms it
    It does not: a run shows no comments. With `--probe`, a comment is also used where it suppresses what only a run finds.

    ## When it is not reported
    For comments that suppress everything (`# noqa`, `# torch-doctor: ignore-file`), for codes of other tools, for rules that
    did not speak in the file (they are not selected, or ignored for it) and those that only a run can show, for files
    that are not valid Python, and with `--ignore-noqa`, `--shard`, or where the scan could not look at everything. Without
    `--probe`, also for rules that a run can show too, where a script hands something to code out of sight: there a run may
    find what the source does not show.

    ## References
    - https://docs.python.org/3/reference/lexical_analysis.html#comments
    """

    code = "TDR001"
    name = "unused-suppression"
    level = Level.WARNING
    witness = "S"
    fix = Fix.SAFE
    fix_changes = frozenset[Figure]()

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Every comment that names what is not there."""
        for event in trace.of(SuppressionUnused):
            near = next((near for _, near in event.unknown if near), "")
            names = event.names or tuple(name for name, _ in event.unknown)
            places = {f"name_{number}": name for number, name in enumerate(names)}
            listed = ", ".join(f"`{{{name}}}`" for name in places)
            where = "in this file" if event.whole_file else "here"
            said = f"{listed} find{'s' * (len(names) == 1)} nothing {where}"
            if not event.names:
                said = f"no rule is called {listed}"
            yield self.finding(
                event.site,
                message(f"{said}: nothing is suppressed", **places),
                help=f"write `{near}`" if near else "take the name out" if event.instead else "take the comment out",
                edits=[] if event.instead is None else [Comment(event.site, event.instead)],
            )
