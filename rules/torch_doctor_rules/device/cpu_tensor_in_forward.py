"""TDR801: a tensor that `forward` creates on the CPU and combines with one on the model's device."""

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
    """A tensor is created in `forward` without a device and combined with a tensor on the model's device.

    ## Why is this bad?
    The code works on the CPU. On a GPU, the first batch fails with "Expected all tensors to be on the same device": a tensor
    that is created without `device=` is on the CPU, regardless of the device of the model and its inputs.

    ## Example
    ```python
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
    ```diff
         def forward(self, x):
    -        return self.layer(x + torch.randn(x.shape))
    +        return self.layer(x + torch.randn(x.shape, device=x.device))
    ```

    ## How the probe confirms it
    The probe runs the script a second time with a simulated GPU and tracks the device of every tensor. If an operation
    combines tensors of two devices, the probe repeats it with fake tensors on the CPU and on `cuda:0`, and torch raises its
    error. On a machine with a GPU, the operation itself raises it.

    ## When it is not reported
    - For zero-dimensional tensors, index tensors and lengths, which may be on the CPU.
    - For tensors that are moved before they are used, even if a flag decides about the move.
    - For buffers and parameters.
    - For modules without parameters that do not get the output of a model, such as data transforms.
    - For models that the script trains on the CPU.
    - If neither the script nor the modules it imports mention a device, or a framework that moves models.

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
        """Yield a finding where a forward creates a CPU tensor that is combined with one on the GPU."""
        for met in _met(trace):
            if met.since is not None and met.loss:
                text = "the weights of `{name}` are on the CPU: it fails when the model is on a GPU"
                yield self.finding(
                    met.since,
                    message(text, name=named(met.name, "the loss")),
                    help="move the loss to the model's device, or create its weights there",
                    trail=[Step(met.site, "it is combined with a tensor on the GPU here")],
                )
            elif met.since is not None:
                beside = f"with `device={met.beside}.device`" if met.beside else "on the device of the other tensor"
                text = "this tensor is created on the CPU: `{operation}` in `{name}` fails on a GPU"
                yield self.finding(
                    met.since,
                    message(text, name=named(met.name, "the model"), operation=met.operation),
                    help=f"create it {beside}, or register it as a buffer",
                    edits=[Keyword(met.since, "device", f"{met.beside}.device")] if met.beside else [],
                    trail=[Step(met.site, "it is combined with a tensor on the GPU here")],
                )

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Return whether the tensor was created; its device is only known if it was combined with another."""
        if trace.run is not None and trace.run.came_to(finding.site) is False:
            return False
        return "in this run, the script requested no GPU, or combined the tensor with none on the GPU"

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """Yield torch's error."""
        for met in _met(trace):
            if met.since is not None and same_place(finding.site, met.since):
                text = f"{count(met.elements, 'value')} on the CPU, the others on `cuda:0`: {met.proof}"
                yield fact(text, met.elements, "numbers", met)
                return


def _met(trace: Trace) -> list[DevicesMet]:
    return [met for met in trace.of(DevicesMet) if met.how == "made" and met.inside and not met.given]
