"""TDR807: APIs that torch has removed and, as advice, those that it deprecates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.edits import Figure
from torch_doctor.rule import Finding, Fix, Level, Rule
from torch_doctor_rules.judging.successors import cause, is_gone, is_heard, spelled, successor, uses
from torch_doctor_rules.judging.wording import message

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import OutdatedUsed, Trace


class OutdatedApi(Rule):
    """The script uses an API that torch has removed or deprecated.

    ## Why is this bad?
    A removed API fails or has no effect. For example, `verbose=` of a scheduler is an error since torch 2.7, `loss.data[0]` is
    an error since 1.0, and `volatile` has no effect since 0.4, so autograd records graphs that are never used.

    A deprecated API emits a warning, is no longer developed and may be removed, for example `torch.cuda.amp.autocast`, which
    is deprecated since 2.4. Such a use is reported as advice, which is off by default: enable it with `--select ALL` or
    `--extend-select TDR807`. Each deprecated API is reported once in a project, and the message counts the other uses.

    ## Example
    ```python
    from torch.cuda.amp import autocast

    for parameter in model.parameters():
        parameter.requires_grad_(False)
    with autocast(enabled=False):
        print(model(torch.randn(2, 4)))
    ```

    ## Use instead
    ```diff
    -from torch.cuda.amp import autocast
    -
     for parameter in model.parameters():
         parameter.requires_grad_(False)
    -with autocast(enabled=False):
    +with torch.autocast("cuda", enabled=False):
         print(model(torch.randn(2, 4)))
    ```

    ## How the probe confirms it
    It does not: the use is visible in the source, so there is nothing to measure.

    ## When it is not reported
    - If no torch version that the project allows emits a warning, or if one of them does not have the replacement yet. The
      versions come from `pyproject.toml`, a requirements, environment or lock file, or `torch-version` in the configuration.
      A project without any of these is assumed to use a current version.
    - In branches on the torch version, and in `except` blocks.
    - In imports and in `isinstance`.
    - For all uses except the first in a file (removed APIs) or in the project (deprecated APIs).
    - For outdated APIs that work without a warning (TDR813).

    ## References
    - https://docs.pytorch.org/docs/stable/amp.html
    - https://docs.pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate
    - https://docs.pytorch.org/docs/stable/notes/autograd.html#locally-disabling-gradient-computation
    """

    code = "TDR807"
    name = "outdated-api"
    level = Level.WARNING
    witness = "S"
    fix = Fix.SAFE
    fix_changes = frozenset[Figure]()

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Yield a finding for every deprecated or removed use whose replacement exists in the oldest torch."""
        for used in uses(trace):
            if not is_heard(trace, used):
                continue
            gone = is_gone(trace, used)
            since = spelled(used.gone if gone else used.warns)
            state = "has no effect" if used.idle else "fails" if gone else "is deprecated"
            text = "`{name}` " + state + " since torch {since}: " + ("remove it" if used.dropped else "use `{instead}`")
            yield self.finding(
                used.site,
                message(text, name=used.name, since=since, instead=used.instead),
                help=_help(used),
                cause=cause(used),
                wide=not gone,
                level=None if gone else Level.ADVICE,
                edits=successor(used),
            )


RENAMES = {"torch.nn.utils.parametrizations.weight_norm": "`weight_g` or `weight_v`"}
"""Successors under which the state has other names, and what these are."""


def _help(used: OutdatedUsed) -> str:
    """Return what to write instead."""
    if used.idle:
        return f"use `{used.instead}` instead: otherwise, autograd records a graph"
    if used.dropped:
        return f"remove it, and print `{used.instead}` where you need it"
    if used.instead in RENAMES:
        return f"use `{used.instead}`, and update code and checkpoints that refer to {RENAMES[used.instead]}"
    return f"use `{used.instead}`, which is available since torch {spelled(used.since)}"
