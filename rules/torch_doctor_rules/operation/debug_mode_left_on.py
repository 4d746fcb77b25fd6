"""TDR903: a debugging mode is enabled for the entire run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.edits import Delete, Figure
from torch_doctor.rule import Evidence, Finding, Fix, Level, Rule, Step
from torch_doctor.trace import Backward, LoopKind, SettingSet
from torch_doctor_rules.judging.evidence import at, count, fact
from torch_doctor_rules.judging.sites import first_per_site
from torch_doctor_rules.judging.wording import message

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Trace

PROFILER = "torch.profiler.profile"
COSTS = {
    "torch.autograd.set_detect_anomaly": "anomaly detection is enabled for the entire run: training takes several times as long",
    PROFILER: "the profiler records the entire run: it slows down every step and fills the memory",
    "CUDA_LAUNCH_BLOCKING": "`CUDA_LAUNCH_BLOCKING` is set: the CPU waits for every single kernel",
}
REMEDIES = {
    "torch.autograd.set_detect_anomaly": "enable it only for a few steps, to find a NaN",
    PROFILER: "give it a `schedule`, or record only a few steps",
    "CUDA_LAUNCH_BLOCKING": "set it only on the command line, to find an error",
}


class DebugModeLeftOn(Rule):
    """Anomaly detection, a profiler or `CUDA_LAUNCH_BLOCKING` is enabled for the entire run.

    ## Why is this bad?
    These tools are meant for finding errors, and they slow down every step. Anomaly detection stores a traceback for
    each operation and checks each gradient for NaN. A profiler records every kernel until memory is full. With
    `CUDA_LAUNCH_BLOCKING`, the CPU waits for the GPU after every launch.

    ## Example
    ```python
    torch.autograd.set_detect_anomaly(True)
    x, y = torch.randn(64, 4), torch.randn(64, 1)
    for step in range(100):
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()
    ```

    ## Use instead
    ```diff
    -torch.autograd.set_detect_anomaly(True)
     x, y = torch.randn(64, 4), torch.randn(64, 1)
    ```

    ## How the probe confirms it
    The mode is enabled at every backward pass of the run.

    ## When it is not reported
    - A flag or an argument decides.
    - Some of the training runs without it.
    - A profiler has a schedule, or records a single loop of steps.

    ## References
    - https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html#disable-debugging-apis
    - https://docs.pytorch.org/docs/stable/notes/cuda.html#asynchronous-execution
    """

    code = "TDR903"
    name = "debug-mode-left-on"
    level = Level.WARNING
    witness = "SP"
    fix = Fix.SAFE
    fix_changes = frozenset[Figure]()
    only_confirms = True

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Every switch, where no backward pass goes without its mode."""
        for setting, cost in COSTS.items():
            on = [event for event in trace.of(SettingSet) if event.setting == setting and event.value]
            under = {switch: self._under(trace, switch) for switch in on}
            covered = {backward for found in under.values() for backward in found}
            if not all(backward in covered for backward in trace.of(Backward)):
                continue
            for switch in first_per_site(switch for switch in on if under[switch]):
                step = under[switch][0]
                if self._is_long(step, setting):
                    note = "gradients are computed with it enabled here"
                    yield self.finding(
                        switch.site,
                        message(cost),
                        help=REMEDIES[setting],
                        trail=[Step(step.site, note)],
                        edits=[Delete(switch.site)],
                    )

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Whether the switch was reached and training went on without it."""
        return bool(at(trace, finding.site, SettingSet)) and bool(trace.of(Backward))

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """How many backward passes ran under it."""
        switches = [event for event in at(trace, finding.site, SettingSet) if event.value]
        under = {step for switch in switches for step in self._under(trace, switch)}
        if switches:
            total = count(len(trace.of(Backward)), "backward pass", "backward passes")
            yield fact(f"enabled in {len(under)} of {total}", len(under), "backward passes", switches[0])

    def _under(self, trace: Trace, switch: SettingSet) -> list[Backward]:
        """Return the backward passes for which the mode has been enabled, and not disabled again."""
        offs = [event for event in trace.of(SettingSet) if event.setting == switch.setting and event.value is not True]
        return [
            backward
            for backward in trace.of(Backward)
            if backward.index > switch.index
            and trace.implies(backward, switch)
            and not any(switch.index < off.index < backward.index and trace.together(off, backward) for off in offs)
        ]

    def _is_long(self, backward: Backward, setting: str) -> bool:
        """Return whether the steps are a full training run: a profiler is meant for one loop of them."""
        loops = [scope for scope in backward.scope.iterations() if scope.loop_kind is not LoopKind.COUNTED]
        return len(loops) > (setting == PROFILER)
