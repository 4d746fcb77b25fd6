"""TDR807: what torch has replaced."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.rule import Finding, Fix, Level, Rule
from torch_doctor.trace import ANY, BranchKind, OutdatedUsed
from torch_doctor_rules.judging.sites import first_per_site
from torch_doctor_rules.judging.wording import message

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Trace


class OutdatedApi(Rule):
    """Something is used that torch's documentation marks as outdated.

    ## Why is this bad?
    What is marked as outdated warns, is no longer developed, and one day is gone: `volatile` does nothing since
    torch 0.4, and `verbose=` of a scheduler is an error in current versions. Some of it is wrong in silence: what is
    changed through `.data` is not seen by autograd, which then computes wrong gradients instead of raising an error,
    and `DataParallel` is slower than one process for each device.

    ## Example
    ```python
    import torch
    from torch import nn
    from torch.cuda.amp import autocast

    model = nn.Linear(4, 1)
    for parameter in model.parameters():
        parameter.requires_grad_(False)
    with autocast(enabled=False):
        print(model(torch.randn(2, 4)))
    ```

    ## Use instead
    ```python
    import torch
    from torch import nn

    model = nn.Linear(4, 1)
    for parameter in model.parameters():
        parameter.requires_grad_(False)
    with torch.autocast("cuda", enabled=False):
        print(model(torch.randn(2, 4)))
    ```

    ## How the probe confirms it
    It does not: the source says it all.

    ## When it stays silent
    Where a torch that the project allows (`pyproject.toml`, requirements, environment or lock file, or `torch-version` in
    the configuration) does not have the successor yet, behind a test of torch's version and in an `except` block, at
    imports and in `isinstance`, and for a `.data` of what is not surely a tensor. A project that names no version is taken
    to use a new torch.

    ## References
    - https://docs.pytorch.org/docs/stable/amp.html
    - https://docs.pytorch.org/docs/stable/autograd.html#variable-deprecated
    - https://docs.pytorch.org/docs/stable/generated/torch.nn.DataParallel.html
    - https://docs.pytorch.org/docs/stable/notes/autograd.html
    """

    code = "TDR807"
    name = "outdated-api"
    level = Level.WARNING
    witness = "S"
    fix = Fix.SAFE

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Every use of what the oldest torch of the project can do in the new way."""
        for used in first_per_site(self._plain_uses(trace)):
            oldest = trace.torch()
            if oldest != ANY and oldest.oldest < used.since:
                continue
            yield self.finding(
                used.site,
                message("`{name}` is outdated: `{instead}` replaces it", name=used.name, instead=used.instead),
                help=f"use `{used.instead}`, which is there since torch {'.'.join(map(str, used.since))}",
            )

    def _plain_uses(self, trace: Trace) -> Iterator[OutdatedUsed]:
        """The uses that are meant for every version of torch."""
        for used in trace.of(OutdatedUsed):
            kinds = ((trace.branches[branch].kind, arm) for branch, arm in used.guards)
            if not any(kind is BranchKind.VERSION or (kind is BranchKind.RAISED and arm) for kind, arm in kinds):
                yield used
