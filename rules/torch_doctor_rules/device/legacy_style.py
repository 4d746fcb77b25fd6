"""TDR813: APIs that still work and have a better replacement."""

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
    """The script uses an API that still works without a warning, but has a better replacement.

    ## Why is this bad?
    PyTorch's documentation advises against these APIs. Autograd does not track changes through `.data`, so it computes wrong
    gradients instead of raising an error. `DataParallel` is slower than one process per device. Others are leftovers from
    old versions: a `Variable` is a tensor since torch 0.4, and `reduction` replaces `size_average` and `reduce`.

    ## Example
    ```python
    from torch.autograd import Variable

    model = nn.Linear(4, 2)
    for parameter in model.parameters():
        parameter.requires_grad_(False)
    x = Variable(torch.randn(3, 4))
    print(model(x), model(Variable(torch.zeros(1, 4))))
    ```

    ## Use instead
    ```diff
    -from torch.autograd import Variable
    -
     model = nn.Linear(4, 2)
    ...
         parameter.requires_grad_(False)
    -x = Variable(torch.randn(3, 4))
    -print(model(x), model(Variable(torch.zeros(1, 4))))
    +x = torch.randn(3, 4)
    +print(model(x), model(torch.zeros(1, 4)))
    ```

    ## How the probe confirms it
    It does not: the use is visible in the source, so there is nothing to measure.

    ## When it is not reported
    - If a torch version that the project allows emits a warning (TDR807), or does not have the replacement yet. The versions
      come from `pyproject.toml`, a requirements, environment or lock file, or `torch-version` in the configuration.
    - In branches on the torch version, and in `except` blocks.
    - In imports and in `isinstance`.
    - For `.data` of an object that may not be a tensor.
    - For all uses in a file except the first.

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
        """Yield a finding for every use without a warning whose replacement exists in the oldest torch."""
        for used in uses(trace):
            if not is_heard(trace, used):
                text = "`{name}` is legacy style: `{instead}` replaces it"
                yield self.finding(
                    used.site,
                    message(text, name=used.name, instead=used.instead),
                    help=f"use `{used.instead}`, which is available since torch {spelled(used.since)}",
                    cause=cause(used),
                    edits=successor(used),
                )
