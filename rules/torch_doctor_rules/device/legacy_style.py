"""TDR813: what still works, and has a better successor."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.edits import Figure
from torch_doctor.rule import Finding, Fix, Level, Rule
from torch_doctor_rules.judging.successors import cause, is_heard, spelled, successor, uses
from torch_doctor_rules.judging.wording import message

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Trace


class LegacyStyle(Rule):
    """Something is used that still works in silence and has a better successor.

    ## Why is this bad?
    Torch's documentation advises against it, for a reason: what is changed through `.data` is not seen by autograd, which
    then computes wrong gradients instead of raising an error, and `DataParallel` is slower than one process for each
    device. The rest reads like the torch of years ago: a `Variable` is a tensor since 0.4, and `size_average` and
    `reduce` are one argument, `reduction`.

    ## Example
    ```python
    import torch
    from torch import nn
    from torch.autograd import Variable

    model = nn.Linear(4, 2)
    for parameter in model.parameters():
        parameter.requires_grad_(False)
    x = Variable(torch.randn(3, 4))
    print(model(x), model(Variable(torch.zeros(1, 4))))
    ```

    ## Use instead
    ```python
    import torch
    from torch import nn

    model = nn.Linear(4, 2)
    for parameter in model.parameters():
        parameter.requires_grad_(False)
    x = torch.randn(3, 4)
    print(model(x), model(torch.zeros(1, 4)))
    ```

    ## How the probe confirms it
    It does not: the source says it all.

    ## When it is not reported
    Where a torch that the project allows (`pyproject.toml`, requirements, environment or lock file, or `torch-version` in
    the configuration) warns of it (TDR807) or does not have the successor yet, behind a test of torch's version and in an
    `except` block, at imports and in `isinstance`, for a `.data` of what is not surely a tensor, and after the first use
    in a file.

    ## References
    - https://docs.pytorch.org/docs/stable/autograd.html#variable-deprecated
    - https://docs.pytorch.org/docs/stable/generated/torch.nn.DataParallel.html
    - https://docs.pytorch.org/docs/stable/nn.functional.html
    """

    code = "TDR813"
    name = "legacy-style"
    level = Level.ADVICE
    witness = "S"
    fix = Fix.SAFE
    fix_changes = frozenset[Figure]()

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Every use that no torch of the project warns of, where its oldest can do it in the new way."""
        for used in uses(trace):
            if not is_heard(trace, used):
                text = "`{name}` is legacy style: `{instead}` is its successor"
                yield self.finding(
                    used.site,
                    message(text, name=used.name, instead=used.instead),
                    help=f"use `{used.instead}`, which is there since torch {spelled(used.since)}",
                    cause=cause(used),
                    edits=successor(used),
                )
