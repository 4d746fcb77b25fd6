"""TDR802: the model and its inputs or labels are on different devices."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.rule import Evidence, Finding, Level, Rule, Step, same_place
from torch_doctor.trace import DevicesAgreed, DevicesMet, Trace
from torch_doctor_rules.judging.evidence import at, count, fact
from torch_doctor_rules.judging.wording import message, named

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Site


class BatchOnOtherDevice(Rule):
    """The model and its inputs or labels are on different devices.

    ## Why is this bad?
    The code works on the CPU. On a GPU, the first batch fails with "Expected all tensors to be on the same device".

    ## Example
    ```python
    net = nn.Linear(4, 1).to(device)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    x, y = torch.randn(8, 4), torch.randn(8, 1)
    nn.functional.mse_loss(net(x.to(device)), y).backward()
    optimizer.step()
    ```

    ## Use instead
    ```diff
     x, y = torch.randn(8, 4), torch.randn(8, 1)
    -nn.functional.mse_loss(net(x.to(device)), y).backward()
    +nn.functional.mse_loss(net(x.to(device)), y.to(device)).backward()
     optimizer.step()
    ```

    ## How the probe confirms it
    The probe runs the script a second time with a simulated GPU and tracks the device of every tensor. If an operation
    combines tensors of two devices, the probe repeats it with fake tensors on the CPU and on `cuda:0`, and torch raises its
    error. On a machine with a GPU, the operation itself raises it.

    ## When it is not reported
    - For tensors that `DataParallel`, `DistributedDataParallel` or a framework with its own training loop moves.
    - For tensors and modules whose device is unknown, or that are each moved under a different condition.
    - For tensors that stay where they are because a test has found them there (`if self.device == device: return self`).
    - For zero-dimensional tensors.
    - If the cause is a move whose result is discarded (TDR803).

    ## References
    - https://docs.pytorch.org/docs/stable/notes/cuda.html
    - https://docs.pytorch.org/docs/stable/generated/torch.Tensor.to.html
    """

    code = "TDR802"
    name = "batch-on-other-device"
    level = Level.ERROR
    witness = "SP"
    needs = frozenset({"device"})
    explained_by = frozenset({"TDR301", "TDR302", "TDR308"})

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Yield a finding for every forward or loss that gets tensors on two devices."""
        seen: set[Site] = set()
        for met in _met(trace):
            site = _call(met)
            if site in seen:
                continue
            seen.add(site)
            if met.how == "parameter":
                text = "`{name}` stays on the CPU, but its input is moved to the GPU: the call fails"
            elif met.forward_site is not None:
                text = "`{name}` is on the GPU, but gets a tensor on the CPU: the call fails"
            else:
                text = "`{operation}` gets one tensor on the GPU and one on the CPU: the call fails"
            yield self.finding(
                site,
                message(text, name=named(met.name, "the model"), operation=met.operation),
                help="move the model, the inputs and the labels to the same device with `.to(...)`",
                trail=list(_trail(met, site)),
            )

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Return whether all tensors of the call were on the GPU."""
        if at(trace, finding.site, DevicesAgreed):
            return True
        return "in this run, the script requested no GPU, or did not reach this line with one"

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """Yield torch's error, or that all tensors were on the GPU."""
        for met in _met(trace):
            if same_place(finding.site, _call(met)):
                text = f"{count(met.elements, 'value')} on the CPU, the others on `cuda:0`: {met.proof}"
                yield fact(text, met.elements, "numbers", met)
                return
        for agreed in at(trace, finding.site, DevicesAgreed):
            text = f"all tensors were on the GPU in {count(agreed.times, 'call')}, {agreed.tensors} in each"
            yield fact(text, agreed.times, "times", agreed)


def _trail(met: DevicesMet, site: Site) -> Iterator[Step]:
    """Yield where the tensor on the CPU comes from, and where the other was moved to the GPU."""
    texts = {"batch": "this loader returns batches on the CPU", "moved": "this is moved to the CPU"}
    text = texts.get(met.how, "this is on the CPU")
    for place, words in ((met.since, text), (met.moved_at, "this is moved to the GPU")):
        if place is not None and not same_place(place, site):
            yield Step(place, words)


def _met(trace: Trace) -> list[DevicesMet]:
    """Return where a tensor of the script, not of a module, is on the wrong device."""
    return [
        met
        for met in trace.of(DevicesMet)
        if not met.lost
        and not _made_inside(met)
        and (met.forward_site is None or met.given or met.how in {"batch", "parameter"})
    ]


def _made_inside(met: DevicesMet) -> bool:
    """Return whether a module created the tensor, which TDR801 reports."""
    return met.how == "made" and met.inside and not met.given


def _call(met: DevicesMet) -> Site:
    return met.site if met.forward_site is None else met.forward_site
