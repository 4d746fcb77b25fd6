"""TDR801: a tensor that `forward` builds on the CPU, and combines with one that is where the model is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.edits import Figure, Keyword
from torch_doctor.rule import Evidence, Finding, Fix, Level, Rule, Step, same_place
from torch_doctor.trace import DevicesMet, Trace
from torch_doctor_rules.judging.evidence import count, fact
from torch_doctor_rules.judging.wording import message, named

if TYPE_CHECKING:
    from collections.abc import Iterator


class CpuTensorInForward(Rule):
    """A tensor is built in `forward` without a device, and combined with a tensor that is on the model's.

    ## Why is this bad?
    It works on the CPU. On a GPU the first batch ends with "Expected all tensors to be on the same device", because what
    is built without `device=` is on the CPU wherever the model and its inputs are.

    ## Example
    ```python
    import torch
    from torch import nn


    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(4, 1)

        def forward(self, x):
            return self.layer(x + torch.randn(x.shape))


    device = "cuda" if torch.cuda.is_available() else "cpu"
    net = Net().to(device)
    nn.functional.mse_loss(net(torch.randn(8, 4, device=device)), torch.zeros(8, 1, device=device)).backward()
    torch.optim.SGD(net.parameters(), lr=0.1).step()
    ```

    ## Use instead
    ```python
    import torch
    from torch import nn


    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(4, 1)

        def forward(self, x):
            return self.layer(x + torch.randn(x.shape, device=x.device))


    device = "cuda" if torch.cuda.is_available() else "cpu"
    net = Net().to(device)
    nn.functional.mse_loss(net(torch.randn(8, 4, device=device)), torch.zeros(8, 1, device=device)).backward()
    torch.optim.SGD(net.parameters(), lr=0.1).step()
    ```

    ## How the probe confirms it
    In a run of its own the script is told that there is a GPU, and it is known of every tensor where it would be. Where
    two places meet, that operation is done with fake tensors on the CPU and on `cuda:0`: torch raises its error. With a
    GPU it is the error of the operation itself.

    ## When it is not reported
    For tensors without dimensions, index tensors and lengths, which may be on the CPU; for what is moved before it is used,
    also behind a flag; for buffers and parameters; for modules without parameters that get nothing of a model, as transforms
    of the data; for what a script trains on the CPU; and where neither the script nor what it imports names a device, or a
    framework that moves models.

    ## References
    - https://docs.pytorch.org/docs/stable/notes/cuda.html
    - https://docs.pytorch.org/docs/stable/torch.compiler_fake_tensor.html
    """

    code = "TDR801"
    name = "cpu-tensor-in-forward"
    level = Level.ERROR
    witness = "SP"
    fix = Fix.UNSAFE
    fix_changes = frozenset[Figure]()
    needs = frozenset({"device"})

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Every place that makes tensors during a forward which then meet others on the GPU."""
        for met in _met(trace):
            if met.since is not None and met.loss:
                text = "the weights of `{name}` are on the CPU: it fails on a GPU, where the model's output is"
                yield self.finding(
                    met.since,
                    message(text, name=named(met.name, "the loss")),
                    help="move the loss to the model's device, or build its weights there",
                    trail=[Step(met.site, "here it meets a tensor on the GPU")],
                )
            elif met.since is not None:
                beside = f"with `device={met.beside}.device`" if met.beside else "on the device of what it meets"
                text = "this tensor is on the CPU; `{name}` fails on a GPU where `{operation}` combines it"
                yield self.finding(
                    met.since,
                    message(text, name=named(met.name, "the model"), operation=met.operation),
                    help=f"build it {beside}, or register it as a buffer",
                    edits=[Keyword(met.since, "device", f"{met.beside}.device")] if met.beside else [],
                    trail=[Step(met.site, "here it meets a tensor on the GPU")],
                )

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Whether the tensor was made, not where it was: a run tells of meetings only."""
        if trace.run is not None and trace.run.came_to(finding.site) is False:
            return False
        return "the script asked for no GPU, or the tensor met none of one in this run"

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """What torch says."""
        for met in _met(trace):
            if met.since is not None and same_place(finding.site, met.since):
                text = f"{count(met.elements, 'number')} on the CPU, the others on `cuda:0`: {met.proof}"
                yield fact(text, met.elements, "numbers", met)
                return


def _met(trace: Trace) -> list[DevicesMet]:
    return [met for met in trace.of(DevicesMet) if met.how == "made" and met.inside and not met.given]
