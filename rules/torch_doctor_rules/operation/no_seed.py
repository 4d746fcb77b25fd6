"""TDR901: a training script that sets no seed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.edits import Figure, Insert, Top
from torch_doctor.rule import Evidence, Finding, Fix, Level, Rule, Step
from torch_doctor.trace import Backward, GaveUp, ModuleBuilt, Owned, RunAsScript, Seeded, Stepped
from torch_doctor_rules.judging.evidence import count, fact
from torch_doctor_rules.judging.gradients import fills
from torch_doctor_rules.judging.testing import is_test_file

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Scope, Site, Trace


SEED = "$torch.manual_seed(0)"


class NoSeed(Rule):
    """The script trains without setting a seed, so no two runs are the same.

    ## Why is this bad?
    Initial weights, the order of the samples and dropout differ from run to run. The effect of a code change cannot be
    distinguished from chance, and a run that went wrong cannot be reproduced.

    ## Example
    ```python
    import torch
    from torch import nn

    x, y = torch.randn(64, 4), torch.randn(64, 1)
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(100):
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()
    ```

    ## Use instead
    ```diff
    +torch.manual_seed(0)
     x, y = torch.randn(64, 4), torch.randn(64, 1)
    ```

    ## Fix safety
    The fix is unsafe: with a seed, all runs of the script use the same random numbers. It seeds only torch; NumPy and
    `random` have seeds of their own.

    ## How the probe confirms it
    The run trains, but neither torch nor `random` nor NumPy is seeded.

    ## When it is not reported
    - Anything is seeded, possibly by a function of another library.
    - A framework owns the training loop.
    - The training loop is in a function without a known caller, or in a test.

    ## References
    - https://docs.pytorch.org/docs/stable/notes/randomness.html
    """

    code = "TDR901"
    name = "no-seed"
    level = Level.ADVICE
    witness = "SP"
    fix = Fix.UNSAFE
    fix_changes = frozenset({Figure.RANDOM})
    only_confirms = True

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Yield the script if it trains and nothing is seeded."""
        loop = self._training_loop(trace)
        if (
            loop is None
            or trace.begins_outside
            or any(is_test_file(event.site) for event in trace.of(RunAsScript))
            or any(isinstance(event, (Seeded, Owned, GaveUp)) for event in trace.events)
        ):
            return
        sites: list[Site] = [event.site for event in trace.of(RunAsScript)]
        yield self.finding(
            next(iter(sites), loop.site),
            "the script trains without a seed: no two runs are the same",
            help="call `torch.manual_seed(...)` first, and seed `random` and NumPy if you use them",
            trail=[Step(loop.site, "it trains here")] if sites else [],
            edits=[
                Top(loop.chain()[0].site, SEED, loop.site)
                if self._begins_before(trace)
                else Insert(sites[0], SEED, first=True)
            ],
        )

    def _begins_before(self, trace: Trace) -> bool:
        """Return whether the file has no `__main__` block, or creates a model before it."""
        built = trace.of(ModuleBuilt)
        return not any(not built or event.index < built[0].index for event in trace.of(RunAsScript))

    def reached(self, trace: Trace, finding: Finding) -> bool | str:  # noqa: ARG002 - it is about the script as a whole
        """Whether the run trained, and something was seeded."""
        return self._training_loop(trace) is not None and bool(trace.of(Seeded))

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:  # noqa: ARG002 - as above
        """What was seeded, and how often the script stepped."""
        steps, seeded = len(trace.of(Stepped)), trace.of(Seeded)
        if seeded:
            yield fact(f"`{seeded[0].function}` is called", seeded[0].function, "", seeded[0])
        elif steps:
            yield fact(f"{count(steps, 'step')} taken, but nothing was seeded", steps, "steps", trace.of(Stepped)[0])

    def same(self, finding: Finding, seen: Finding) -> bool:  # noqa: ARG002 - a script has one finding
        """A script trains without a seed or not: wherever that is reported, it is one finding."""
        return True

    def _training_loop(self, trace: Trace) -> Scope | None:
        """The outermost loop around the first backward pass of a training step."""
        stepped = {scope.loop for event in trace.of(Stepped) for scope in event.scope.iterations()}
        for event in trace.of(Backward):
            loops = event.scope.iterations()
            if fills(event) and loops and not stepped.isdisjoint(scope.loop for scope in loops):
                return loops[0]
        return None
