"""TDR803: a tensor is moved by a statement that drops the moved one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.rule import Evidence, Finding, Level, Rule
from torch_doctor.trace import DevicesMet, MoveLost, Trace
from torch_doctor_rules.shown import at, count, fact
from torch_doctor_rules.wording import message

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Site


class MoveResultDiscarded(Rule):
    """A tensor is moved by `x.to(device)` or `x.cuda()` as a statement: the moved copy is dropped.

    ## Why is this bad?
    Tensors do not move in place, as modules do. The copy on the GPU is thrown away, `x` stays on the CPU, and on a GPU the
    next operation with the model's parameters fails.

    ## Example
    ```python
    import torch
    from torch import nn

    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    net = nn.Linear(4, 1).to(device)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    x, y = torch.randn(8, 4), torch.randn(8, 1, device=device)
    x.to(device)
    nn.functional.mse_loss(net(x), y).backward()
    optimizer.step()
    ```

    ## Use instead
    ```python
    import torch
    from torch import nn

    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    net = nn.Linear(4, 1).to(device)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    x, y = torch.randn(8, 4), torch.randn(8, 1, device=device)
    x = x.to(device)
    nn.functional.mse_loss(net(x), y).backward()
    optimizer.step()
    ```

    ## How the probe confirms it
    In a run of its own the script is told that there is a GPU. The statement's value is a tensor that would be there, its
    own tensor is one that would not.

    ## When it stays silent
    For modules, which do move in place, and for whatever has a method `to` and is no tensor (batches of a tokenizer,
    metrics); for a tensor that is there already; and for scripts that never ask for a GPU.

    ## References
    - https://docs.pytorch.org/docs/stable/generated/torch.Tensor.to.html
    """

    code = "TDR803"
    name = "move-result-discarded"
    level = Level.ERROR
    witness = "P"
    needs = frozenset({"device"})

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Each statement that drops what it moved."""
        seen: set[Site] = set()
        for lost in trace.of(MoveLost):
            if lost.site not in seen:
                seen.add(lost.site)
                yield self.finding(
                    lost.site,
                    message("`{name}` does not move in place: the copy on the GPU is dropped", name=lost.name),
                    help=f"assign the result: `{lost.name} = {lost.name}.to(device)`",
                )

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """How much stays where it is, and what becomes of it."""
        for lost in at(trace, finding.site, MoveLost):
            text = (
                f"{count(lost.elements, 'number')} of `{lost.name}` stay on the CPU after the move to `{lost.device}`"
            )
            yield fact(text, lost.elements, "numbers", lost)
            break
        for met in trace.of(DevicesMet):
            if met.lost:
                yield fact(f"there it fails on a GPU: {met.proof}", met.elements, "numbers", met)
                break
