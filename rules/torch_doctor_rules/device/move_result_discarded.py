"""TDR803: a tensor is moved, and the moved copy is discarded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.edits import Assign, Figure
from torch_doctor.rule import Evidence, Finding, Fix, Level, Rule
from torch_doctor.trace import DevicesAgreed, DevicesMet, Moved, MoveLost, Trace, claims
from torch_doctor_rules.judging.evidence import at, count, counted, fact
from torch_doctor_rules.judging.wording import message

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Site


NO_TENSOR = claims.MOVED_NO_TENSOR


class MoveResultDiscarded(Rule):
    """The result of `x.to(device)` or `x.cuda()` is discarded, so the tensor stays on the CPU.

    ## Why is this bad?
    Unlike modules, tensors are not moved in place. The copy on the GPU is discarded and `x` stays on the CPU. On a machine
    with a GPU, the next operation with the model's parameters fails.

    ## Example
    ```python
    net = nn.Linear(4, 1).to(device)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    x, y = torch.randn(8, 4), torch.randn(8, 1, device=device)
    x.to(device)
    nn.functional.mse_loss(net(x), y).backward()
    optimizer.step()
    ```

    ## Use instead
    ```diff
     x, y = torch.randn(8, 4), torch.randn(8, 1, device=device)
    -x.to(device)
    +x = x.to(device)
     nn.functional.mse_loss(net(x), y).backward()
    ```

    ## How the probe confirms it
    The probe runs the script a second time with a simulated GPU. The discarded result is on that GPU, and the tensor itself
    is not.

    ## When it is not reported
    - For modules, which are moved in place.
    - For objects that have a `to` method and are not, or not known to be, tensors, such as tokenizer batches, graphs and
      metrics.
    - For tensors that are already on the device, such as the output of a model on it.
    - For tensors without a name, as in `torch.zeros(1).cuda()`, which initializes the GPU.
    - At the end of a notebook cell, which displays the moved tensor.

    ## References
    - https://docs.pytorch.org/docs/stable/generated/torch.Tensor.to.html
    """

    code = "TDR803"
    name = "move-result-discarded"
    level = Level.ERROR
    witness = "SP"
    fix = Fix.SAFE
    fix_changes = frozenset[Figure]()
    needs = frozenset({"device"})
    only_confirms = True  # a run does not show whether a notebook displays what is moved

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Yield a finding for every statement that discards the moved tensor."""
        seen: set[Site] = set()
        for lost in trace.of(MoveLost):
            if lost.site not in seen:
                seen.add(lost.site)
                yield self.finding(
                    lost.site,
                    message(
                        "the moved copy of `{name}` is discarded: the tensor itself stays on the CPU", name=lost.name
                    ),
                    help=f"assign the result to `{lost.name}`",
                    edits=[Assign(lost.site)],
                )

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Return whether the moved object was a module, not a tensor, or already on the device."""
        moves = at(trace, finding.site, Moved)
        there = at(trace, finding.site, DevicesAgreed) or counted(trace, finding.site, NO_TENSOR)
        if there or any(move.module for move in moves):
            return True
        return "the script did not request a GPU in this run" if moves else False

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """Yield how many values stay on the CPU and how that fails, or that no move was needed."""
        if often := counted(trace, finding.site, NO_TENSOR):
            yield fact(f"the moved object was not a tensor in {count(often, 'call')}", often, "times")
        for agreed in at(trace, finding.site, DevicesAgreed):
            text = f"the tensor was already on the GPU in {count(agreed.times, 'call')}"
            yield fact(text, agreed.times, "times", agreed)
        for lost in at(trace, finding.site, MoveLost):
            text = f"{count(lost.elements, 'value')} of `{lost.name}` stay on the CPU after the move to `{lost.device}`"
            yield fact(text, lost.elements, "numbers", lost)
            break
        for met in trace.of(DevicesMet):
            if met.lost:
                yield fact(f"using the tensor fails on a GPU: {met.proof}", met.elements, "numbers", met)
                break
