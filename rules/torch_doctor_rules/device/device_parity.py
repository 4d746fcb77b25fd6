"""TDR810: the model gives different outputs on the GPU and on the CPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.rule import Evidence, Finding, Level, Rule
from torch_doctor.trace import DevicesDiffer, Trace
from torch_doctor_rules.judging.evidence import at, count, fact, short
from torch_doctor_rules.judging.wording import message

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Site


class DeviceParity(Rule):
    """The model gives different outputs on the CPU and on the GPU for the same input.

    ## Why is this bad?
    The code that you tested on one machine behaves differently on another, and results cannot be reproduced. Typical causes
    are a branch on the device, an uninitialized tensor, or an operation that behaves differently on the two devices.

    ## Example
    ```python
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(4, 1)

        def forward(self, x):
            if x.is_cuda:
                x = x * 2
            return self.layer(x)


    device = "cuda" if torch.cuda.is_available() else "cpu"
    net = Net().to(device)
    net(torch.randn(8, 4, device=device)).square().mean().backward()
    torch.optim.SGD(net.parameters(), lr=0.1).step()
    ```

    ## Use instead
    ```diff
         def forward(self, x):
    -        if x.is_cuda:
    -            x = x * 2
    -        return self.layer(x)
    +        return self.layer(x * 2)
    ```

    ## How the probe confirms it
    On a machine with a GPU, copies of the model run on a few samples of the first batch on both devices, in evaluation mode
    and in float32 without TF32. The outputs differ by more than `torch.testing.assert_close` allows, and still do in
    float64.

    ## When it is not reported
    - Without a GPU.
    - For models that draw random numbers, or that cannot run in evaluation mode, on the CPU or in float64.
    - For rounding errors, which disappear in float64.
    - For models that are too large to copy.

    ## References
    - https://docs.pytorch.org/docs/stable/testing.html#torch.testing.assert_close
    - https://docs.pytorch.org/docs/stable/notes/numerical_accuracy.html
    """

    code = "TDR810"
    name = "device-parity"
    level = Level.ERROR
    witness = "P"
    needs = frozenset({"parity"})
    voided_by = frozenset({"device"})

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Yield a finding for every forward whose outputs differ between devices."""
        seen: set[Site] = set()
        for differ in trace.of(DevicesDiffer):
            if differ.site not in seen:
                seen.add(differ.site)
                yield self.finding(
                    differ.site,
                    message("`{name}` gives different outputs on the GPU and on the CPU", name=differ.name),
                    help="look for branches on the device, uninitialized tensors, and operations that differ there",
                )

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """Yield the largest difference between the outputs."""
        for differ in at(trace, finding.site, DevicesDiffer):
            text = (
                f"{count(differ.elements, 'value differs', 'values differ')} between CPU and GPU, by up to "
                f"{short(differ.largest)}, where {differ.allowed:.1e} is allowed"
            )
            yield fact(text, differ.largest, "", differ)
            return
