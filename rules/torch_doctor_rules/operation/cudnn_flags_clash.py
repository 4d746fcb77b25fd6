"""TDR902: cuDNN is set to be deterministic and to choose the fastest algorithm."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.edits import Figure, Wrap
from torch_doctor.rule import Finding, Fix, Level, Rule, Step
from torch_doctor.trace import SettingSet
from torch_doctor_rules.judging.sites import first_per_site
from torch_doctor_rules.judging.wording import message

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Trace

BENCHMARK = "torch.backends.cudnn.benchmark"
DETERMINISTIC = "torch.backends.cudnn.deterministic"


class CudnnFlagsClash(Rule):
    """`cudnn.deterministic = True` and `cudnn.benchmark = True` are both set.

    ## Why is this bad?
    `benchmark` times several convolution algorithms and selects the fastest. Timings vary, so the next run may select
    another one. Two runs with the same seed then still differ in their last digits, and `deterministic` costs speed
    for nothing.

    ## Example
    ```python
    torch.backends.cudnn.deterministic = True
    torch.backends.cudnn.benchmark = True
    model = nn.Conv2d(3, 8, 3)
    print(model(torch.randn(2, 3, 32, 32)).shape)
    ```

    ## Use instead
    ```diff
     torch.backends.cudnn.deterministic = True
    -torch.backends.cudnn.benchmark = True
    +torch.backends.cudnn.benchmark = False
     model = nn.Conv2d(3, 8, 3)
    ```

    ## How the probe confirms it
    It does not: the fastest algorithm differs from machine to machine.

    ## When it is not reported
    - The two are set on different paths.
    - The first is set on some paths only, such as `deterministic` only if there is a seed.
    - A variable decides one of them.
    - One of them is disabled again.

    ## References
    - https://docs.pytorch.org/docs/stable/notes/randomness.html#cuda-convolution-benchmarking
    """

    code = "TDR902"
    name = "cudnn-flags-clash"
    level = Level.WARNING
    witness = "S"
    fix = Fix.SAFE
    fix_changes = frozenset[Figure]()

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Yield every second setting that holds together with the first."""
        on = [event for event in trace.of(SettingSet) if event.value and event.setting in (BENCHMARK, DETERMINISTIC)]
        yield from first_per_site(
            self.finding(
                second.site,
                message(
                    "`{new} = True` together with `{old} = True`: runs with the same seed still differ",
                    new=second.setting.rpartition(".")[2],
                    old=first.setting.rpartition(".")[2],
                ),
                help="set `torch.backends.cudnn.benchmark = False`",
                trail=[Step(first.site, f"`{first.name}` is enabled here")],
                edits=[Wrap((first if first.setting == BENCHMARK else second).site, "False", expected="True")],
            )
            for second in on
            for first in on
            if first.setting != second.setting and _precedes(on, first, second) and self._clash(trace, first, second)
        )

    def _clash(self, trace: Trace, first: SettingSet, second: SettingSet) -> bool:
        """Whether both hold at once: the second is never set without the first, and nothing sets them again."""
        return trace.implies(second, first) and not any(
            event.value is not True
            and event.setting == switch.setting
            and event.index > switch.index
            and trace.together(event, switch)
            for switch in (first, second)
            for event in trace.of(SettingSet)
        )


def _precedes(on: list[SettingSet], first: SettingSet, second: SettingSet) -> bool:
    """Whether one switch comes before the other, and does not only follow it when the function runs again."""
    return first.index < second.index and not any(
        again.site == second.site and again.index < first.index for again in on
    )
